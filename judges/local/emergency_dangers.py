"""Phrases that are signs of danger, by family: the emergency judge's English. `phrasebook` explains the special signs.

To add a phrase, write it as a line of the family it belongs to.
"""

# ruff: noqa: E501 (a phrase is a line, a list is a paragraph)
from judges.local.emergency_lexicon import Danger

DANGERS = (
    Danger("death wish", "self_harm", """
        disappear|vanish|gone from this world|earth|life
        decided stop existing|living
        stop existing
        done with everything|it all|this life|this world
        there is rope .. in|looking
        miss me when|after|once i am|die dead|gone
        when i am dead
        after i am dead
        tonight it|everything|all ends|end
        it|everything|all ends tonight|now|today
        danger myself
        i am danger others|people|everyone
        not .. miss me
        gave|given|giving .. away .. goodbye
        goodbye .. gave|given|giving .. away
        WANT [my] life end
        end is near|here .. me
        can not .. another day|night
        not WANT .. another day
        WANT fade|slip away forever
        ready .. go .. peace
        no reason be alive|here
        easier|better|happier|simpler|relieved if i died|die|vanished|was|were [not] [dead|gone|here]
        if i die .. easier|better|happier|no|nobody
        close doing it|ending
        so close .. ending|doing|killing
        nearly|almost did it
        unsafe with|around MYSELF|me
        i feel unsafe tonight|now|alone
        letters .. they|you find|read
        letters everyone
        letter|letters my kids|family|children|parents|wife|husband|mum .. gone|dead|find|after
        no longer WANT exist|live|be
        not bear live|living|be
        existing hurts
        time for me go
        my time has come
        time go .. tell my
        picture|picturing|see|seeing|imagine|imagining MYSELF dead|dying|hanging
        if i live or die
        not care if i live|die|wake|survive
        no will|desire|wish [to] live|keep
        lost will live
        do not deserve .. live|life
        not here ANYMORE .. better|happier
        would not be missed
        i WANT everything be over
        want .. suffering .. over|end|stop
        i [am] just waiting die
        waiting die
        come|came .. end for me
        i WANT give up on life|living
        giving|given up on life|living
        not see point in living|life|being
        i am not meant be alive|here
        WANT close my eyes forever
        close my eyes .. never
        wish .. be dead
        wish cancer|accident|disease .. kill|take me
        i will be dead
        by tomorrow .. dead|gone
        can not live like this
        can not keep going $
        not .. i can keep going|living|on
        can not keep going like|ANYMORE|and|i|nothing|there
        can not|not go on like this
        not go on $
        not WANT .. do|live this life ANYMORE
        not WANT do life|this ANYMORE
        i WANT life over
        nothing [left] [here] for me here|left|in
        WANT my life over
        WANT everything [to] stop forever
        it should have been me
        should never have been born
        no one|body needs me
        life is over
        i WANT go [to] heaven|home god
        i see death|myself dying|dead
        thinking|thought|thoughts|fantasies|dreaming|dreams [about] .. my death|funeral|dying|suicide
        imagine|imagining my funeral|death
        better if i was not|never
        not exist ANYMORE
        death would|seems|sounds|is .. relief|better|peaceful|nice|easier|good
        dying would|seems|sounds .. relief|better|peaceful|nice|easier|good
        WANT stop living|breathing|existing|waking
        WANT never wake|waking
        never wake up again
        not WANT .. wake up ANYMORE|tomorrow|again
        nobody .. funeral
        i might|could as well be dead|die|kill
        might as well die|kill
        WANT my heart stop
        disease .. kill me soon
        ready go $
        not scared|afraid die|death|dying ANYMORE
        life .. nothing but .. pain|suffering
        WHO WANT [be] die|dead
        WHO [am|is] .. WANT die
        WANT die
        ^ [not] wish i was|were|would dead|die
        wish i was|were|would [be] dead
        wish i would die
        wish i had never been born
        wish i was|were never born
        wish i had not been born
        wish i did not exist|wake|live
        wish i could [fall] [go] sleep .. never|not wake
        wish i could disappear forever
        wish i would not wake
        hope i do not wake
        hope i never wake
        hope i die
        praying .. die
        pray .. not wake
        not WANT live
        no desire|wish live
        not WANT be alive
        not WANT [be] here ANYMORE
        not WANT exist
        not WANT [ever] wake up
        not WANT go on ANYMORE|like|with|and
        not WANT go on $
        not WANT go on living
        not WANT see tomorrow
        no longer WANT live
        no longer WANT be alive|here
        not sure|know if|whether|why i WANT [be|keep] live|alive|living|here
        not .. reason live|continue|stay
        not .. reason go|keep on|going
        no reason go|keep on|going
        never WANT wake up
        better off dead
        better off if i was|were dead
        better off without me
        better if i was|were dead|gone
        better if i died
        better if i did|was|were not exist|here|born|alive
        world|everyone|everybody|family .. better|happier without me
        tired of living
        tired of being alive
        sick of living
        done with life|living
        had enough of life|living
        go sleep .. never wake
        go sleep .. not wake
        sleep forever
        sleep and never wake
        no reason [for] [me] live
        no reason i should live
        no reason keep living
        nothing [left] .. live for
        what [is] point [in] living|life|being
        why keep|go|bother living|on
        why am i [still] alive|here|living
        no point [in] living|live
        no point [in] [me] being alive
        no point going on
        life .. not worth living
        life not worth it ANYMORE
        not worth living
        rather [be] dead|die
        feel|feels like dying
        leave|leaving|depart this world|earth|life
        WANT .. off|leave this planet|earth
        not WANT .. on this planet|earth
        not WANT .. in this world
        not make|survive [it] [through] tonight|night|weekend|today
        see you on other side
        see you in heaven
        waste of space|oxygen|air
        i should not be alive|exist|here
        i do not deserve [be] live|alive
        world .. not need me
        do everyone favour|favor .. die|disappear|end|gone
        let me die
        god .. take me
        hope|wish .. hit|hits me|by bus|car|train|lorry|truck
        wish .. shoot|kill|hit|end me
        hope .. die in sleep|my
        wish .. die in my sleep
        WANT out of this life
        WANT be with my dead|late
        be with my dead|late .. soon|again|now
        life .. no meaning .. out
        fantasise|fantasize|dream|fantasising|daydream [about] dying|death|being
        not .. strength live|keep
        i am dead tomorrow|by
        WANT it all [to] end
        cannot see future .. me
        would be dead than
        i should be dead|die
        i deserve die
        i am ready die
        ready leave this|world|earth
        ready die
        i am going die tonight|today|tomorrow|soon
        i do not deserve live
        nobody|no|not|who|anyone [one] would .. if i died|disappeared|vanished|was|were [dead|gone] [here]
        if i died|disappeared|vanished|was|were [dead|gone] .. nobody|no|not|who [one] .. care|notice|miss|mind
        no one will miss me
        nobody will miss me
        WANT be with .. in heaven
        WANT join .. in heaven
        WANT it all [be] over
        WANT everything [be] over
        WANT life [be] over|end
        living .. too painful ANYMORE
        WANT disappear forever|permanently
        WANT stop existing
        WANT not exist|live
        cannot live [like] [this] ANYMORE
        cannot keep living
        cannot go on living
        cannot stay alive
        do not see myself alive|living
        i can not see reason live
        see no reason live|living
        give|tell|name me .. reason [not] live|die|stay
        reason not kill|die
        unlive myself
        die .. would be relief
        death .. only way|escape|option|answer|solution
    """),
    Danger("suicidal", "self_harm", """
        WHO [am|is|feel|feels|been|being|get|getting|have|felt] .. SUICIDAL
        ^ [feel|feeling|am] SUICIDAL
        feeling SUICIDAL
        SUICIDAL right now
        i|having|have|had|has .. SUICIDAL thoughts|ideation|urges|feelings|ideas
        thoughts|thinking|think|thinks|dreaming|fantasising|fantasizing [about] SUICIDE
        i .. thinking [about] dying|death
        cannot stop thinking about .. dying|death|suicide
        cannot stop thinking about .. KILL SELF
        SUICIDE [thoughts] .. on my mind
        considering|contemplating|contemplate|consider SUICIDE
        SUICIDE .. only way|option|answer|solution|choice
        SUICIDE is all
        all i think about .. dying|death|SUICIDE
        SUICIDE is .. only
        i .. attempt|commit SUICIDE
        INTEND .. commit|attempt|do SUICIDE
        WHO INTEND SUICIDE
        i .. SUICIDE plan|note|letter
        WHO have|has .. plan .. kill|SUICIDE|die
        plan|planning|planned|plans my|his|her SUICIDE|death
        planned how .. die|do it|kill
        commit SUICIDE tonight|today|tomorrow|now|soon
        written|wrote|writing|write|left|finished|leaving .. SUICIDE note|letter
        written|wrote|writing|write|left|finished .. goodbye|farewell letters|letter|note|notes
        WHO is SUICIDAL
        talk|talked|stop me out|from .. SUICIDE
        help me commit SUICIDE
        help me die
        help me .. die
        killing|kill me|myself .. right now
    """),
    Danger("loose", "self_harm", """  # only where nothing around it takes it back
        i .. die
        i .. SUICIDE
        i .. dead $
        i .. kill|hang|drown|shoot MYSELF
    """, guards=frozenset({"negation", "past", "hypothetical", "fiction", "general", "figurative", "asked", "planning", "hedge", "prevention", "information"})),
    Danger("self kill", "self_harm", """
        i want out $
        life hurts
        tied|tying|hung rope|belt|cord|sheet|cable|scarf
        rope|belt|cord .. around .. neck|beam|tree|hook|ceiling
        WHO [is|am] .. going|about do it tonight|now|today
        going|about do something terrible|stupid|bad .. myself
        put|hold|holding gun|knife [to] my|against
        loaded gun
        finger on trigger
        cut my throat
        jump off
        jumping off
        jump .. my death
        end my pain|torment|agony|story|days
        end all|everything tonight|now|today
        finally end it
        end it for good
        make it end|stop tonight|now|forever
        put end it my|all|life
        put end it
        kill me now
        KILL SELF
        WHO INTEND .. KILL SELF
        [not] why [should] [i] not KILL SELF
        cannot|not stop|help .. thinking|think|thoughts [about] KILL SELF
        reason|reasons [why] [i] [should] not KILL SELF
        not know how|if|whether .. KILL SELF
        not trust myself
        hanging|hang myself|himself|herself
        end|ending|finish my|his|her LIFE
        end|ending|finish it all
        end|ending it tonight|today|now|soon|tomorrow
        WHO INTEND .. end it|everything|things
        WHO am|is going .. end it
        ^ INTEND end it
        take|taking|taken my|his|her LIFE
        take|taking|took my|his|her LIFE
        end my|his|her suffering|misery|existence
        put me out of my misery
        do away with SELF
        top SELF
        off SELF tonight|now
        end myself
        throw|throwing|fling SELF .. DROP
        throw|throwing SELF in|into|off|under|out|front
        jump|jumping|jumped off|from|out|in|into .. DROP
        WHO INTEND .. jump
        WHO .. on|at DROP .. jump|jumping
        WHO .. DROP .. INTEND jump
        ONE [is|are] [standing|sitting|out|up] on|at .. DROP
        standing|sitting on edge|ledge|railing|tracks|rails
        i am on edge|ledge|railing|tracks bridge|roof
        WHO says|say|said|saying|text|texted|texting|threatening|threatens .. jump
        step|walk|run|lie|lying|stepping|walking in|into|on front|traffic|tracks|rails|sea|train
        step|walk|run|jump|stepping|jumping|walking in front [moving] lorry|train|bus|car|truck
        slit|slitting|cut|cutting|slash|slashing|open my|his|her HARMPART
        drive|driving .. into|off tree|wall|bridge|cliff|lorry|traffic
        noose around
        rope around my|his|her neck
        gun in my|his|her head|mouth
        gun my|his|her head|mouth
        bullet in|through my head
        ^ kill|shoot me
        someone|somebody kill|shoot|end me
        kill me $
        WANT .. kill me
        blow|blowing my|his|her brains
        pull|pulling trigger
        drown|drowning SELF
        bullet .. myself|brain
        WHO [am|is] ending it|everything|things|my
        thinking|thoughts|think|thought|thinks [about] .. ending|end things|it|everything|all|my
        could|might end it
        i have|got exit bag|helium|charcoal
        catch bus $
        bleed out
        WHO INTEND .. take my|his|her LIFE
        kill ourselves
        throw myself
        set myself|himself|herself on fire
        pour|poured|pouring petrol|gasoline|fuel|lighter .. around|over|on|myself|bed
    """),
    Danger("death wish, placed", "self_harm", """
        not WANT [be] live|alive in .. world|body|pain|hell|skin|fear|agony|misery
        not WANT live with this|these|myself|pain|voices|illness|schizophrenia
        live with it|this ANYMORE
        not worth living
    """, guards=frozenset({"past", "hypothetical", "fiction"})),
    Danger("method", "self_harm", """
        way|ways|how|method|methods [do|can|could|should|would] [i] commit SUICIDE
        commit SUICIDE .. without|with|by|painlessly|quickly
        way|ways [of] SUICIDE
        PILLS .. best|enough|strong .. SUICIDE|die|kill
        how [many|much] .. die $
        die without pain
        die in my sleep
        how die
        ways|way|where die
        ways|way .. KILL SELF|yourself|oneself
        tied|tying|made|making|make|tie noose
        hurt|painful|does|would .. KILL|drown|drowning SELF
        how quickly|fast|long .. die|kill|death
        research|researching|researched|googling|googled|searching|looking .. die|suicide|KILL
        what .. take|mix|drink .. die|kill
        survive .. jump|fall from
        how [many|much] .. PILLS .. die|kill|overdose|fatal|lethal|death
        how [many|much] .. take|need|takes .. die|overdose
        how many|much .. kill me|myself|you|person|someone
        [painless|quick|easy|quickest|easiest|best|painlessly|effective|surest] way|ways|method|methods [of] [for] [me] die|dying|kill|suicide|go|ending
        painless|quick|easy|quickest|easiest|best|peaceful suicide|death
        painlessly kill|die
        how i|do|can|could|should|would [i|you|one] [best] die|overdose
        how [do|can|could|would|should] [i] die .. painlessly|quickly|peacefully|pain
        lethal|fatal|deadly dose|amount|overdose
        dose|amount .. kill me|myself
        how tie|make .. noose
        tie|make noose
        suicide method|methods|pact
        how overdose
        how .. overdose on
        enough PILLS kill|die|overdose|end
        enough kill me|myself
        will|would PILLS kill me
        what happens if i TAKE all
        what if i TAKE all my
        if i TAKE all [of] my|these .. at once|will|die
        how long .. die|bleed .. from|hanging|overdose|wrists
        how high .. jump|fall .. die|sure
        where .. cut|buy .. die|kill|end
        PILLS .. until|before .. die|dead|gone
        PILLS .. until|before .. not|never wake
        go same way
        which|what bridge|building|cliff .. high|tall|die|jump
        high enough .. die|kill|jump
        which|what PILLS .. kill|killing|deadliest|die|suicide
        best|easiest|way|ways|quickest .. KILL yourself|oneself
        how .. KILL yourself|oneself
        how .. yourself .. painlessly|pain
        quickest way out
    """, guards=frozenset({"negation", "fiction", "prevention", "past"})),
    Danger("self harm", "self_harm", """
        cut|slit|slashed|sliced|burned|burnt|cutting my wrist|wrists|arm|arms|throat|legs|skin|veins
        WANT .. bleed
        WANT .. feel|see .. blood
        hurting|harming|cutting|burning MYSELF
        i [am] bleeding $
        punish|punishing MYSELF
        starve MYSELF
        bang|banging|smash|smashing my head wall|against|on
        scared|afraid of MYSELF|myself
        scared|afraid i will|might|may|going .. do something
        WHO INTEND .. HARM SELF
        WHO am|is|keep|keeps|started|been|have|has .. HARM SELF
        HARM SELF again|tonight|now|badly|deep|bleeding|on purpose
        urge|urges .. HARM
        urge|urges .. self harm
        WHO INTEND .. self harm
        i self harmed
        i am|keep|been self harming
        afraid|scared|worried i|she|he will|might|may|could .. HARM SELF
        afraid|scared|worried of what i will|might|may|could do
        blade|razor|knife on|against|at my skin|arm|wrist|wrists|neck|throat|leg
        not stop HARM SELF
        cutting again|deeper|deep
        cut deeper
        relapsed .. cutting|self
        cut SELF .. bleeding|deep|blood|stop
        bleeding .. wrists|wrist
        cut SELF with .. razor|knife|blade|glass|scissors
        keep myself safe tonight|anymore
        cannot keep myself safe
        cannot stay safe
        not feel safe with myself
        not safe with|from myself
        do something stupid|bad|terrible to myself
        do something to myself
        i .. going do something stupid|terrible|bad tonight|now|today
    """),
    Danger("overdose intent", "self_harm", """
        going|want|will|about|gonna|ready|plan|planning TAKE|TOOK them|it|these all|tonight|now
        going|want|will|about|gonna|ready|plan|planning TAKE all|every|whole [of] [them|it|these|my]
        INTEND TAKE .. PILLS .. all|once|die|tonight
        tempted TAKE .. all|whole|too
        PILLS .. until i have enough
        saving|stockpiling|hoarding|collecting .. PILLS
        enough PILLS
        mix|mixing .. PILLS .. alcohol|vodka|whisky .. die|end|sleep
        WHO INTEND .. overdose
        WHO .. going|want|wants overdose
        WHO INTEND .. TAKE all|whole|every|entire .. PILLS
        TAKE|TOOK all my|his|her PILLS
        TAKE all|whole .. PILLS tonight|now|today|end|die|once
        TAKE all these|them .. tonight|now|end|die|once
        saving|saved|stockpiling|stockpiled|hoarding|collecting|collected|hiding [up] [all] [my] PILLS
        PILLS .. end it|die|everything
        TAKE enough PILLS|die|kill
        TOOK .. PILLS .. die|kill|end
    """),
    Danger("goodbye", "self_harm", """
        goodbye forever|world|cruel|everyone|everybody|all
        this is goodbye
        final|last goodbye|goodbyes|message|letter|night on earth
        say|saying|said my|his|her [final|last] goodbyes|goodbye
        by time you|anyone read|reads|find|see .. dead|late
        by time you|anyone read|reads .. i will|am be gone|dead
        posted|sent|left|wrote|writing|writes|texted|sending [me|us] goodbye|suicide|farewell message|messages|note|letter|post|video|text
        goodbye .. ending|end it
        i am writing say goodbye
        by time .. this i will be dead|gone
        i will be dead|gone by|soon|tonight|tomorrow|before|when
        will not be here|around|alive tomorrow|much|by|next|longer|monday|when|in morning
        not be alive tomorrow|by|next|when|much
        last time you|anyone will hear|see
        you will not|never hear from me again
        last time i talk|write|speak
        my last day|night|hours|evening
        tell my .. i loved|love them|her|him .. sorry|gone
        this|tonight will be my last
        tonight is night
        today is day i die|end
        it will all be over tonight
        it will be over tonight
        my affairs in order .. die|gone|goodbye
        do not try stop|save me
        forgive me for what i am [about] going|do
        sorry for what i am [about] going|do
    """),
    Danger("hopeless", "self_harm", """
        no point [in] [anything|anymore|life|going|trying|it]
        what is point [in] [anything|living|life|going|trying|it|anymore]
        not|never see .. point
        see no point|future|way
        can not go on
        can not take|do|bear|stand|face|handle [it|this|life] ANYMORE
        can not take|do|bear|stand this pain|life
        can not do this
        can not cope ANYMORE
        i give up
        i am giving up
        i have had enough
        given up
        give up on life
        no hope [left]
        hopeless
        it will [all] be over
        soon .. be over
        over soon
        burden
        burden on everyone|everybody|family|them
        nobody|no would care|miss|notice
        no one cares
        nobody cares
        everyone hates me
        worthless
        this is it
        wife|husband|boyfriend|girlfriend|partner left [me]
        can not keep going|fighting
        trapped
        no way out
        no future
        life .. pointless|meaningless|over|empty
        WANT .. pain|it|this|everything [all] [be] stop|end|over
        WANT escape|disappear|vanish
        make it stop|end
        pain .. too much
        depressed
        i hate my life|myself
        lost everything
        tired of everything|fighting|trying|it all|this
        done fighting|trying
        not worth it
        thinking about death|dying
        dark thoughts
        feel dead|empty|numb
        cannot carry on
        would be easier if i
        wish i was|were not here
    """, weight="mood", guards=frozenset({"past", "hypothetical", "fiction"})),
    Danger("means", "self_harm", """
        i|have|got|bought|holding|kept|hid|found .. rope|gun|knife|blade|razors|noose|pistol|shotgun|rifle|handgun|bullets
        knife|gun|rope|razor|blade|pills|tablets in my hand|hands|lap|drawer
        i am on|at|standing|sitting|by .. DROP
        on|at bridge|roof|balcony|ledge|cliff|tracks
        have|got|bought|found .. PILLS .. here|front|ready|enough|now|lined|counted|table|hand
        PILLS in front|hand|ready|lined|counted
        PILLS .. on|in|here my|table|hand|bed|desk
        counted|counting|looking|staring [out|at] [all] [my] PILLS
        after tonight
        goodbye
        WANT do it again
        same way tonight|too|as
        good bye
        farewell
        thank|thanks you|u for everything
        wrote|written|writing [them|him|her] [my] letter|letters|note|will
        gave|giving|given away .. my .. things|dog|cat|stuff|belongings|possessions
        affairs in order
        tell my|them|her|him .. i love|loved|sorry
        take care of my .. when|after|dog|cat|kids|children
        sorry for everything
        please forgive me
        i know how i will|would do it
        decided
        made up my mind
        i have plan
        made plan
        have|got it [all] planned
        today|tonight is day|night
        going take it|them|all
        i am going do it
        will do it
        do it now|tonight
        all of them at once
        all my tablets|pills|meds
        i am at peace
        it does not matter anymore
        will not matter soon|anymore|tomorrow
        will not need them|it|this anymore
        no one can stop me
    """, weight="means", guards=frozenset({"negation", "past", "hypothetical", "fiction"})),
    Danger("past attempt", "self_harm", """
        i [have] tried|attempted .. KILL MYSELF
        i [have] tried|attempted [commit] SUICIDE|overdose
        i [have] attempted SUICIDE
        i tried end .. life
        ONE tried|attempted .. KILL SELF
        ONE attempted SUICIDE
        ONE tried end .. life
        i cut|hurt|harmed myself .. last night|today|again|ago|yesterday|bleeding
    """),
    Danger("harm to others", "harm_to_others", """
        i WILL HURTS anyone|whoever|someone|anybody|everybody
        not control|stop|resist .. urge|urges|impulse|myself .. HURTS
        urge|urges HURTS
        beat .. THEM .. death
        i WILL beat|choke|smother|hit|attack [my] THEM
        i WILL shoot|kill|stab everyone|everybody|people|all
        i WILL KILL him|her|them|you|someone
        voices|thoughts .. HURTS [my] THEM
        scared|afraid .. HURTS [my] THEM
        WANT [to] HURTS [my] THEM
        i WILL burn .. down
        burn .. ward|house|building|school|church|flat|hospital .. down
        i WILL burn|bomb|torch house|ward|building|church|school|flat|hospital|place
        push .. in front of train|bus|car
        push .. in front train|bus|car
        urge|urges|want|going|need .. push .. train|tracks|stairs
        have|got|bring|bought|taking .. knife|gun|axe|rifle|shotgun|machete .. him|her|them|find|pay|wait
        WANT|going|will .. see .. blood|dead|suffer
        until he|she|they .. dead
        i will|am going end|finish|destroy|slaughter|butcher him|her|them|you|everyone|people
        WANT him|her|them|people|everyone dead
        WANT .. him|her|them .. die|dead|suffer
        take people|others|someone|them|everyone .. with me
        i .. lose control .. hurt|kill|stab
        hearing|have|having thoughts [about] HURTS|hurting|harming|killing|stabbing [my] THEM
        ONE .. hitting|beating|choking|strangling|attacking|stabbing|threatening me|us|mother|her|him|sister|baby|kids
        ONE .. threatened|threatening kill|stab|shoot|hurt
        ONE .. with knife|gun|axe outside|coming|threatening|here
        ONE .. outside .. gun|knife|axe
        i [just] stabbed|shot|strangled|killed|poisoned|attacked THEM
        i [am] WILL .. DEADLY .. THEM
        i [am] WILL .. HURTS THEM
        i [am] WILL .. HURTS my THEM
        ONE [is] WILL .. HURTS me|us|THEM
        ONE says|said|threatened|threatens|threatening .. KILL me|us|THEM
        thoughts|thinking|urge|urges [about] DEADLY|killing|stabbing|hurting|strangling .. THEM
        urge|urges .. HURTS .. THEM
        i .. thinking [about] killing|stabbing|hurting|shooting|strangling|poisoning .. THEM
        cannot stop .. thinking [about] killing|stabbing|hurting .. THEM
        make them|him|her|you|everyone [all] pay
        they|he|she all deserve die
        they|he|she will all die
        they|he|she deserves|deserve die
        i have .. gun|knife|weapon .. use|kill|stab|shoot|them|him|her|going
        take|bring|bringing|taking|carrying .. knife|gun|rifle|weapon .. school|work|hospital|clinic|office|class|church
        afraid|scared|worried i will|might|may|could .. HURTS .. THEM
        blow up .. school|hospital|building|office
        set fire .. house|flat|building|with them|school
        shoot up .. school
        ONE [is|has] holding|waving|pointing|grabbed|pulled .. knife|gun|axe|machete|hammer
        ONE has|got .. knife|gun|axe|machete .. us|me|threatening|mother|children|going|says|kill|outside|door
        pointing|pulled|pointed .. gun|knife on|at
        ONE|he|she is attacking|strangling|stabbing|beating
        how .. poison|kill .. THEM .. without|caught|get
        how do|can i kill|poison|murder THEM
    """, guards=frozenset({"negation", "past", "fiction", "general", "figurative", "asked", "planning"})),
    Danger("commanded", "psychosis", """
        VOICE [keep|keeps] TELL KILL|stab|jump|hurt|burn|die
        i must obey|sacrifice|cleanse|kill|purify|cut
        i have obey|sacrifice
        chosen [one] .. kill|save|die|jump|burn|walk|stop
        voices will not stop until|unless
        unless i kill|burn|die|jump|obey|sacrifice|cut
        must cut|get|burn|dig it|him|them|her out
        VOICE .. TELL me|us .. DEED
        voices|voice|god|angel|angels|devil|satan|demons .. TELL DEED
        VOICE .. TELL me|him|her|us .. DEED
        VOICE .. TELL i should|must|have|need DEED
        VOICE .. TELL i .. kill|die|hurt|jump|stab
        VOICE .. commands|commanding|orders|ordering|command|commanded me
        i .. have|must|need obey .. VOICE|them|him
        must do what|as .. VOICE say|says|tell|want
        have do what|as .. VOICE say|says|tell|want
        i heard god|angels|satan .. DEED
        if i do not obey|listen|do .. they|family|everyone|he will|world
        cannot resist .. VOICE|them
        VOICE .. told me .. i am|have .. saviour|chosen|messiah
    """, guards=frozenset({"negation", "past", "hypothetical", "fiction", "general", "hedge", "information", "planning"})),
    Danger("controlled", "psychosis", """
        THEY .. control|controls|steer|steers|move|moves|operate my|me
        waiting|coming|here|outside|sent|hired [to] kill|get|take|murder|poison|shoot me
        going|trying|plan|planning|plotting kill|murder|poison|shoot me tonight|because|through|with|with|and|i
        THEY .. trying|want|going|planning kill|murder|poison me
        listening .. through|in|from .. phone|tv|walls|wall|radio|ceiling|internet|lamp|pipes
        come|coming|came .. kill me|us
        put|puts|putting|inserting|planting|sending|beaming thoughts|voices|ideas|images|messages in|into|through my|me
        thoughts in|into my head with|by|from .. machine|satellite|radio|device
        blood|organs|brain|heart .. poison|poisoned|replaced|machine
        i am under .. control|surveillance|attack
        they watch|follow|hear|track|control|record me|everything|my
        everyone|everybody is in on|against it|me
        whole world|town|city|family is against|plotting|watching|in
        someone|somebody is [in|inside|under] [my] following|watching|hiding|controlling|poisoning|living me|my|in|under
        government|police|cia|fbi .. after|following|watching|tracking|bugged|drugged me|my
        is reptile|robot|demon|alien|clone|lizard|impostor|imposter|devil|agent|spy
        are reptiles|robots|demons|aliens|clones|lizards|impostors|devils|agents
        sent [here] spy|watch|kill|follow [on] me|us
        poisoning|poisoned|poisons water|air|food|me|us
        lives|living|crawling in|inside|under my stomach|head|brain|body|skin|belly
        put|putting .. cameras|camera|chip|microphone|chips in|inside my
        see what|everything i see|think
        everybody|everyone sees|hears|knows what|everything|my i|thoughts [see|think]
        thoughts|mind|brain|body|dreams|organs are|is being stolen|taken|controlled|read|broadcast|removed|hacked|replaced|monitored
        thoughts|mind|brain hacked
        hacked my brain|mind|head|thoughts|body
        world will|is end|ending tonight|tomorrow|because|unless|today
        i am messiah|saviour|chosen|prophet|reincarnation|immortal
        messages|signals|signs .. number|licence|license plates|lyrics|newspaper
        laser|lasers|microwave|microwaves|electricity|frequency|frequencies|waves .. my|me|brain
        they will|want|try|are .. harvest|dissect|experiment .. me|my
        my food|water|coffee|pills is|are poisoned
        they|he|she poisoned my|me
        i am not human|real|alive
        nurse|nurses|doctor|doctors|neighbour|neighbours .. trying|want|wants|going kill|poison|harm|murder me
        THEY .. put|planted|implanted|installed|inserted|hid|hidden|placed .. chip|transmitter|microchip|device|bug|bugs|tracker|wire|microphone|receiver|sensor|implant|electrodes|antenna|microphones|speaker
        microchip|transmitter|implant|device|receiver|tracker|antenna|wire|wires in|inside|into|under my head|brain|tooth|teeth|arm|skin|body|ear|neck|stomach|skull|eyes|eye
        chip in|inside|into|under my head|brain|skin|body|ear|neck|skull|eyes|eye|arm
        [am|are|is] reading|stealing|controlling|broadcasting|hearing|inserting|monitoring|recording|deleting|taking|sucking|erasing my thoughts|mind|brain|body|soul|memories|movements
        read|control|controls|steal|hear|insert|broadcast|controlled my thoughts|mind|brain|body|soul
        body|mind|thoughts|arms|hands|legs .. being|are controlled|moved|stolen|read|broadcast|monitored|steered [by]
        i am being controlled|hunted|poisoned|followed|tracked|spied|watched|chased|monitored|filmed|gassed|recorded|surveilled|stalked|targeted|persecuted
        i am controlled|hunted by
        THEY are|is [all] following|hunting|after|coming|watching|poisoning|chasing|tracking|spying|plotting|monitoring|filming|torturing|harvesting|irradiating|outside [for|on|against] me|us|through|kill
        THEY are|is [all] coming after|for|get me
        THEY .. following|hunting|after|chasing|poisoning|spying on me
        THEY .. coming|come|came|sent|here for|get|kill|take me
        THEY WILL .. kill|poison|harvest|arrest|get me
        THEY .. trying|going|wants|want kill|poison|destroy|get me
        plotting kill|against me
        replaced|swapped|cloned my wife|husband|mother|father|family|brother|sister|son|daughter|mum|mom|dad|parents
        THEY .. poison|poisoning|poisoned everything|everyone|water|us|air|food
        put|putting something|poison|stuff|drugs in .. water|food|drink|air|coffee|tea|milk
        controls|control|controlling me|us
        satellite|satellites .. me|my
        know everything i think
        can hear|read|see my thoughts|mind
        phone|house|flat|room|car .. bugged|wiretapped
        i am immortal|invisible|possessed|invincible
        demon|demons|devil|satan|snake|spirit|alien|aliens .. inside|in me|my|us
        are|is [all] hunting|chasing|stalking|tracking|poisoning|hypnotising|hypnotizing|torturing me
        hunting me
        i can fly
        prove .. i can fly
        poison|poisons|poisoned|poisoning|drugging|drugged my food|water|coffee|medication|tea|milk|tablets|meals|drink|drinks
        poison|drugs|powder|something in|into my food|water|coffee|medication|tea|milk|tablets|meals|drink
        poison in my
        THEY .. put|planted|implanted|installed|inserted|hid|hidden|placed .. camera|cameras|microphones .. my|in|inside .. bathroom|bedroom|head|eyes|walls|room|house|flat|teeth|body|shower
        cameras|camera|microphones|bugs in|behind|inside|hidden .. walls|wall|eyes|lamp|vents|ceiling|lamps|mirror|mirrors|smoke|shower
        gas .. through|into|under .. walls|vents|door|floor|pipes
        rays|lasers|radiation|beams|signals|waves .. my|me|head|brain|body
        tv|television|radio|newsreader|internet|phone|adverts .. talking|speaking|sending|sends|talks|speaks|signals|messages [directly] me
        hidden|secret|coded messages .. me
        i am jesus|god|messiah|prophet|christ|saviour|savior|antichrist|satan|devil|lucifer|son|king|queen
        i am chosen one
        i am dead|rotting .. body|inside
        organs|blood|heart|brain .. gone|rotting|replaced|stolen|removed
        mother|father|wife|husband|family|sister|brother|parents|everyone .. replaced|impostor|imposter|impostors|imposters|robots|clones|double
        i have special powers|mission
        god|angels has chosen|chose|sent me
        i must save|cleanse|destroy|sacrifice world|humanity|mankind|everyone
        bugs|insects|snakes|worms|spiders .. crawling|living under|inside|in my|skin|brain
        walls are talking|breathing|closing|whispering|listening|bleeding|melting
    """, guards=frozenset({"negation", "past", "hypothetical", "fiction", "hedge", "information", "asked"})),
    Danger("lost", "disorientation", """
        who am i and|where|what|help|who
        where is this $
        not remember|know .. my name|who i am|where i am|how i got
        where are we $
        how long have i been here
        what is happening me|where
        ONE .. not remember|know my|his|her name
        ONE .. hallucinating|delirious
        ONE .. suddenly .. not speak|talk|understand|walk|move|know
        ONE .. talks|talking|speaks .. makes|making no|not sense
        everything .. strange|unreal|wrong .. where|who|not
        what month|year|day is it
        not know|remember|recognise|recognize where i am|live
        no idea|clue where i am|live
        forgotten|forgot where|who i am|live
        not know|remember who i am
        not know|remember my name
        no idea who i am
        not know|remember what|which day|year|month|date it|this|today is
        not know|remember what|which day|year|month|date [it] is [it]
        not know|remember if it is day|night|morning
        no idea what day|year|month|time|place it|this|today is
        no idea what day|year|month [it] is
        not know how i got|came|ended here
        not know|remember how i got here|home
        how did i get|end here
        not know what .. place is
        where am i $
        ^ who am i $
        where am i and|everything|what|how|why|who|help|i|now|it
        who am i and|where|what
        not know|remember|find where my home|house|room|family|flat|bed is
        not know|remember how get home|back
        not find my way home|back
        i woke up .. not know|recognise|recognize|remember
        who are these|all people
        who are you people
        not recognise|recognize my face|home|room|reflection|myself
        i am everyone|everybody is dead
        everyone|everybody is dead
        is it day or night
        what year is it|this
        what place is this
        what is this place
        which hospital|city|country|town am i
        what city|country|town am i
        i am lost and
        i am .. lost .. not know|find|remember
        i am .. confused .. not know|what
        not recognise|recognize anything|anyone|my house|street|place|my wife|my husband|family
        ONE .. not know|recognise|recognize where|who|what .. he|she|is
        ONE .. not recognise|recognize me|us|anyone|her|his
        ONE .. talking|speaking|making nonsense|gibberish|sense
        ONE .. making no sense
        ONE .. not making|make [any] sense
        ONE .. confused .. where|who|not|suddenly
        not know if i am awake|dreaming|alive|dead|real
        is this real
        am i dead|alive|dreaming|real
        time .. stopped|moving backwards
    """, guards=frozenset({"past", "hypothetical", "fiction", "general", "figurative", "information"})),
    Danger("breathing", "medical", """
        gasping|fighting .. air|breathe|breath
        short of breath .. chest|now|blue|bad|worse
        stung .. swelling|swollen|breathe
        face|lips|throat|tongue|eyes .. swollen|swelling|swells|swell .. breathe|swallow|new|after|tablet|pill|medicine
        i|he|she|ONE .. can not|hardly|barely breathe
        can not|hardly|barely breathe
        struggling|unable|difficulty|trouble|hard breathe|breathing
        ONE [is|has] not|stopped breathing
        not breathing
        choking
        turning|gone|going|turned|lips blue
        turned|going blue
        hives .. all|breathe|face|throat
        throat|tongue|face|lips|airway .. swelling|swollen|closing|tight|closed|swelled|swells
        allergic reaction .. now|swelling|breathe|spreading|bad|severe
        anaphylactic|anaphylaxis
        having allergic reaction
    """, guards=frozenset({"past", "hypothetical", "fiction", "general", "information", "asked", "figurative"})),
    Danger("chest", "medical", """
        i|he|she|ONE|have|has|having|with|got .. chest pain|pains
        my|his|her chest .. hurts|tight|pain|crushing|hurting|pressure|burning|squeezing
        pain|tightness|pressure|tight in|across|on my|his|her chest
        chest hurts|pain|pains .. breathe|arm|sweating|jaw
        not feel my|his|her [left|right] arm|face|side|legs
        speech .. slurred
        slurring|slurred
        crushing|bad|severe|sharp chest|pain [pain] [in] [my|his|her] chest
        pain .. down my|his|her left arm
        having|had|has .. heart attack
        having|had|has .. stroke
        face .. drooping|droops|dropped
    """, guards=frozenset({"negation", "past", "hypothetical", "fiction", "general", "information", "asked"})),
    Danger("collapse", "medical", """
        stabbed|shot me|myself|him|her
        been stabbed|shot|poisoned|hit
        i am bleeding .. lot|badly|heavily|out|stop|everywhere|wound|stabbed
        face is|are drooping|numb
        not speak|talk|move .. face|arm|suddenly|side
        suddenly not speak|talk|see|move|walk
        fainted|faint .. twice|keep|again|now|wake|breathing
        fell .. unconscious|head .. bleeding|not
        no pulse
        cardiac arrest
        convulsing
        blood everywhere
        ONE|i [is|am|has|have|having|had|been] .. having|had|has seizure|fit|convulsion|convulsions|seizures|convulsing
        having seizure|convulsions
        is|been seizing|convulsing|fitting
        ONE .. collapsed|unconscious|unresponsive|passed out
        ONE .. not|never wake|waking|respond|responding|moving
        can not wake him|her|them|up|my|ONE
        not|never wake|waking up .. him|her
        found .. unconscious|unresponsive|collapsed
        he|she|is|ONE .. unconscious
        i [keep|am|have] passing|passed|blacking out
        foaming .. mouth
        bleeding .. not stop|heavily|lot|everywhere|badly
        vomiting blood
        coughing|throwing up blood
        losing|lost lot blood
    """, guards=frozenset({"negation", "past", "hypothetical", "fiction", "general", "information"})),
    Danger("overdosed", "medical", """
        TOOK everything|all .. cabinet|cupboard|house|medicine|drawer
        TOOK everything i had|could|found
        TOOK .. cleaning|cleaner|chemical|chemicals|pesticide|fluid|paint|petrol
        TOOK bottle|whole|pack|packet cleaning|PILLS
        TOOK two|3|three|4|four|5|five|6|several boxes|packets|bottles|strips|packs|blisters|sheets [of] [my] PILLS|and|now
        TOOK two|3|three|4|four|5|five|6|several boxes|packets|bottles|strips|packs $
        TOOK way|far too many|much
        TOOK more than .. should|dose|supposed|prescribed
        TOOK my|his|her|whole|all month|months|week supply|worth
        TOOK lot|lots|bunch|handful|handfuls|loads|many|several|entire|half [bottle|box|packet] [my|his|her] [sleeping] PILLS
        TOOK .. PILLS .. sleepy|dizzy|vomiting|faint|die|drowsy|numb|strange|unconscious
        baby|toddler|child|kid|son|daughter|boy|girl|grandson|granddaughter|dog swallowed|ate|drank|eaten .. PILLS|bleach|detergent|battery
        found .. empty PILLS|pill|tablet [bottle|packet|packets|box|boxes|packs]
        empty pill bottle|bottles|packets|boxes
        TOOK .. extra .. PILLS|doses .. feel|dizzy|shaking
        TOOK .. too much|many
        WHO had|took too much|many PILLS|insulin|lithium|methadone
        injected too much
        WHO [have|has] TOOK|taken|took too many|much
        TOOK too many|much .. PILLS
        WHO [have|has] [accidentally] [TOOK] overdosed
        WHO [have|has] TOOK|had .. overdose
        TOOK all|whole|entire|every .. PILLS
        TOOK .. whole|entire bottle|packet|box|pack|strip
        TOOK double|triple|twice|three|four|five|six|ten|times .. dose|doses
        TOOK double|triple|twice
        TOOK|drank .. bleach|antifreeze|poison|detergent|drain
        TOOK [about] 10|12|15|16|20|24|25|28|30|32|36|40|45|48|50|56|60|64|70|80|90|100|200|dozen|twenty|thirty|forty|fifty|sixty|hundred|handful|lots|bunch|loads .. PILLS
        TOOK 10|12|15|16|20|24|25|28|30|32|36|40|45|48|50|56|60|64|70|80|90|100|200 of
        ONE .. TOOK .. all|whole|bottle|packet|handful .. PILLS
        overdosed on
        swallowed|drank battery|batteries|bleach|acid|poison
    """, guards=frozenset({"negation", "past", "hypothetical", "fiction", "general", "information"})),
    Danger("toxic", "medical", """
        FEVER .. STIFF
        STIFF .. FEVER
        FEVER [and] [my|his|her] [muscles|body|arms|legs|neck] [are|is|have] [gone|all|getting] STIFF
        STIFF [and] .. [and] FEVER
        muscles|body|jaw|neck|arms .. rigid|stiff|locked .. fever|burning|hot|sweating|temperature|confused
        fever|temperature .. muscles|body|jaw|arms|neck .. rigid|stiff|locked|rock
        fever|temperature .. sore throat|clozapine
        shaking .. sweating .. confused
        temperature [of] [is] 40|41|42|39
        serotonin syndrome .. i|now|think|having
        eyes .. rolled|stuck|rolling up|back|upwards
    """, guards=frozenset({"negation", "past", "hypothetical", "fiction", "general", "information"})),
    Danger("fever", "medical", """
        FEVER
        burning up
        sweating
        38|39|40|41|42 degrees|fever|c
    """, weight="fever", guards=frozenset({"negation", "past", "hypothetical", "fiction", "general", "information"})),
    Danger("rigid", "medical", """
        muscles|muscle|jaw|neck|arms|legs|body|limbs .. stiff|rigid|locked|lock|stiffness|rigidity|rock|hard|stone|board|twitching|jerking|cramping
        stiff muscles|neck|jaw|arms|legs|body|limbs
        rigid muscles|neck|jaw|arms|legs|body|limbs
        muscle stiffness|rigidity
        confused .. shaking|trembling|twitching
        shaking|trembling .. confused|stop
    """, weight="rigid", guards=frozenset({"negation", "past", "hypothetical", "fiction", "general", "information"})),
)  # fmt: skip
