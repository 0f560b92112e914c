"""Phrases that take a sign of danger back, or say that it is about now. `Danger.guards` names those a family heeds."""

# ruff: noqa: E501 (a phrase is a line, a list is a paragraph)
from judges.local.emergency_lexicon import Around

AROUND = (
    Around("past", """
        years|months|decades|decade|year ago
        long ago
        ages ago
        weeks ago
        used
        when i was|were
        when he|she|they was|were
        as teenager|child|kid|student|boy|girl
        in my twenties|teens|thirties|youth|20s|30s|past|childhood|life
        in past
        last year|summer|winter|spring|autumn
        back then|in
        in 1950|1960|1970|1975|1980|1985|1990|1991|1992|1993|1994|1995|1996|1997|1998|1999|2000|2001|2002|2003|2004|2005|2006|2007|2008|2009|2010|2011|2012|2013|2014|2015|2016|2017|2018|2019|2020|2021|2022|2023|2024
        previously
        once
        twice
        before my|i|diagnosis|medication|treatment
        at worst
        during my [first|last] episode|psychosis|breakdown
        in my [first|last] episode|psychosis|breakdown
        history of
        survived
        first episode
        recovered
        no longer
        not anymore
        wanted
        had been
        have not felt|had|been|thought|done .. since|years|months
        i am well|fine|better|okay|ok|stable now|today
        those days are
        that is behind me
        died .. suicide|cancer
        lost .. to suicide
        i remember
    """),
    Around("now", """
        now
        right now
        tonight
        today
        again
        still
        this morning|evening|afternoon|night|minute|moment|weekend
        at moment
        currently
        these days
        yesterday
        last night
        hour|hours|minutes|minute|mins|min|days ago
        half hour ago
        tomorrow
        come|coming back
        is|are back
        once and for all
        at once
        soon
        lately
        ever since
        ANYMORE
    """),
    Around("hypothetical", """
        what if someone|person|people|somebody|anyone|patient|i ever|was|were
        if i ever
        if someone|somebody|anyone|person|people|patient|you|friend|relative|anybody|one
        when someone|somebody|person|people|patient
        suppose
        imagine
        in case
        would it be
        should i worry
        how would i know
        should ever
        hypothetically
        for example
        what should|do i|you|we do if|when
        what if
        if voices|ONE|they|things
        in future
    """),
    Around("planning", """
        what should|do|can|could i|we|you|one do if|when
        how do|can|could|should|would i|we|you|one help|support|talk|respond|react|comfort|cope|tell|know|explain
        how help|support|talk|respond
        should i worry|be
        should|can|could|do|must i [need] [have] TAKE
        may i take
        what number|phone
        why do|does|did|would
        warning signs
    """),
    Around("fiction", """
        novel
        film
        movie
        song
        songs
        lyrics
        lyric
        character
        characters
        documentary
        podcast
        essay
        thesis
        dissertation
        assignment
        article
        poem
        video game
        game
        gaming
        chess
        minecraft
        fortnite
        play about
        book
        netflix
        episode of
        series
        quiz
        exam question
        lecture
        read about|somewhere|online
        news
        hamlet
        shakespeare
        meaning of phrase|word|expression
        translate
        in sims
    """),
    Around("general", """
        people
        patients
        someone
        somebody
        anyone
        persons
        person
        schizophrenics
        teenagers
        others
        men
        women
        everybody
        sufferers
        those who
        adolescents
        veterans
        children
        most
    """),
    Around("figurative", """
        laughing
        laughter
        through my|nose nose
        at night because
        when i run|exercise|walk|climb|lie
        sleep apnoea|apnea
        on edge lately|today|all
        on train|bus|platform going
        end it|things|everything with [my] girlfriend|boyfriend|him|her|wife|husband|partner
        jump right|straight|ahead
        kill me if|when|for i|he|she
        kill time
        killed me $
        exam|exams|homework|dentist
        cold $
        my phone|battery|laptop|car|plant|plants died|dies|is|was|dead
        of embarrassment|boredom|laughter|laughing|curiosity|shame|cringe|cuteness|heat
        boredom
        for pizza|chocolate|coffee|nap|cigarette|beer|burger|drink|kebab|curry|ice|bit
        pizza|burger|kebab|sandwich|curry|coffee|beer|cake|chocolate|pint|takeaway
        i am|was joking|kidding
        only joking|kidding
        ^ joking|kidding
        jk
        self portrait
        live|living with|in|at|near|next|alone|abroad|off|under|together|closer
        be here ANYMORE .. hospital|ward|clinic|home
        jump queue|rope|higher|pool|ship|conclusions
        haha
        hahaha
        figure of speech
        so to speak
        metaphorically
        figuratively
        with kindness
        at chess|cards|football|tennis|fifa|mario|scrabble|monopoly
        homework
        cringe
        gym
        workout
        leg day
        shaving
        cooking
        accident
        accidentally
        ladder
        football
        career
        who i am as person
        who i am ANYMORE
        identity
        as person
        in life
        without medication|job|illness|diagnosis
        with my life
        in my life
        looking job
        in relation
        prove
        supposed
        maths|math|syllabus
    """),
    Around("hedge", """
        feel|feels|felt|feeling like|as|watched
        as if
        as though
        sometimes
        is it|this normal|real|true|paranoia|symptom|psychosis|part|common
        is|not it|this .. real|true
        i know|realise|realize .. not real|true|rational
        not real
        paranoia
        paranoid
        delusion
        delusions
        delusional
        hallucination
        hallucinations
        symptom
        symptoms
        might be
        maybe
        could it be
        what does it mean
        why do i
        my illness|psychosis|schizophrenia|diagnosis
        ignore them|it
        cope
        coping
        i learned|learnt
        learned|learnt
        my therapist|psychologist|nurse|doctor and i
        believe|believes|believed|thinks|convinced|belief|claims
        dream
        dreamt
        dreamed
        nightmare
        nightmares
        thought
        worry
        worried
        afraid that
        common
        usual
        intrusive
        technique|techniques
        test reality
        reality testing
        fear
    """),
    Around("asked", """
        i dream|dreamt|dreamed
        dream|nightmare that
        every night i
        asked|asks|asking|ask me|if|whether
        asked|asks me|him|her if|whether
        questionnaire
        wondered if|whether
        form
        screening
        leaflet
        accused
        people think|say|assume
        everyone thinks|assumes
        mum|mom|mother|doctor|nurse|wife|husband|friend|she|he thinks|assumes|worries|thought i|we
    """),
    Around("prevention", """
        symptoms|signs|symptom|risk
        side effect|effects
        antidote
        avoid
        prevent|prevention
        dogs|cats|rats|mice|dog|cat|wasps|ants|weeds|lice|bedbugs|mould|mold
        treat|treated|treatment
        why do|does people|someone
        battery
    """),
    Around("information", """
        what is|are|does
        what causes
        can PILLS
        do|does|is|are|can|could PILLS
        side effect
        side effects
        symptoms of
        signs of
        symptom of
        sign of
        leaflet
        risk of
        difference between
        how common|likely|often
        tell|explain me about|what|how
        is it possible|true|common
        definition
        mean
        means
        article
        safe
        dangerous
        rare
        avoid
        prevent
        antidote
        for children|dogs|cats|child|dog|cat|rats|mice
        my dog|cat|child
        meant by
    """),
)  # fmt: skip
