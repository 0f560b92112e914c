"""Words the local judges know: what carries meaning, what means the same, what means the opposite."""


def listed(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


def _pairs(text: str) -> list[tuple[str, str]]:
    """Return the "one/other" pairs of a text."""
    return [(one, other) for one, _, other in (pair.partition("/") for pair in text.split())]


STOP_WORDS = listed(
    """
    a an the this that these those it its he she him her his hers they them their theirs we us our ours you your yours
    i me my mine one ones who whom whose which what there here am is are was were be been being do does did doing done
    have has had having will would shall should can could may might must ought and or but so if then than as at by for
    from in into of off on onto out over to up upon with within about also too very just quite rather really even still
    yet again both either each such same other others another own some any all more most much many few little less least
    lot lots bit kind sort thing things way ways well when where why how while because since though although however
    therefore thus between among through during per via etc eg ie ok okay yes no not nor never none nothing without
    anyone anything anybody someone something somebody everyone everything everybody nobody only always often sometimes
    usually generally typically normally perhaps maybe probably possibly likely actually basically simply certainly
    definitely absolutely entirely completely totally indeed especially particularly mainly mostly please now s t m re ve
    ll d let get got gets getting make makes made making go goes going gone went come comes came like say says said
    according source sources section sections mention mentions mentioned note noted example instance including include
    includes included called known know knows important remember keep mind means mean whether once soon later
    first second third next last finally overall instead along across around towards toward yourself themselves himself
    herself itself myself ourselves cannot else against under until unless before after above below every whatever
    whenever wherever need needs needed want wants wanted tell tells told try tries tried trying seem seems use used
    uses using able unable different various certain further furthermore moreover additionally besides plus"""
)
"""Words that carry no weight. Negation, quantity and condition are read separately, by `conflicts`."""

LIGHT_WORDS = listed(
    """
    help helps helped helping helpful people person persons good great best better bad worse time times day days year
    years week weeks month months long short big small new old high low part parts place case cases point work works
    working find finds found give gives given take takes taken taking took see sees seen look looks looking feel feels
    feeling feelings felt think thinks thought start starts starting begin begins put turn show shows become becomes
    happen happens change changes problem problems issue issues question questions answer life live lives living world
    number group common possible important able easy hard difficult right wrong sure true full different main real
    information general idea ideas reason reasons fact facts number amount level type types form forms lead leads leading
    cause causes caused causing affect affects effect effects result results support supports talk talking speak ask
    asking call offer offers provide provides allow allows involve involves consider describe experience experiences enough
    experienced certain early late person someone plan plans step steps option options matter matters vary varies"""
)
"""Words that say little by themselves: weighed a third."""

SYNONYMS = tuple(
    tuple(line.split())
    for line in """
    medicine medication drug medicament med tablet pill prescription
    doctor physician gp clinician prescriber psychiatrist
    therapy psychotherapy counselling counseling
    illness disease disorder condition sickness
    symptom sign
    hallucination hallucinate
    voice voices
    delusion delusional
    psychosis psychotic
    relapse recurrence flare return
    recover recovery heal
    treat treatment treating
    stop quit discontinue cease halt end
    start begin commence initiate onset
    increase raise rise grow higher more up
    decrease reduce lower lessen drop fall fewer lowered cut
    avoid prevent
    danger dangerous risky hazard hazardous unsafe harmful
    risk chance likelihood probability odds
    quick quickly fast rapid rapidly swift soon
    slow slowly gradual gradually
    sudden suddenly abrupt abruptly
    big large great major
    tired fatigue drowsy sleepy drowsiness tiredness sleepiness
    sleep asleep
    anxious anxiety worry nervous
    sad unhappy depressed
    angry anger
    ill sick unwell
    child kid youngster young younger
    infant baby newborn
    teen teenager adolescent teenage adolescence
    adult grown
    elderly old older senior
    family relative relation
    parent mother father mum dad
    sibling brother sister
    friend mate companion
    carer caregiver
    patient sufferer
    home house flat apartment property dwelling accommodation
    landlord lessor owner
    tenant renter lessee
    tenancy lease
    rent rental
    deposit bond
    evict eviction
    repair fix mend
    damp mould mold
    notify notice inform tell
    write written writing letter
    court tribunal judge
    law legal statute legislation
    illegal unlawful
    allow permit let permitted
    forbid ban prohibit forbidden prohibited
    must require obliged required compulsory mandatory
    receive get obtain
    buy purchase
    pay payment paid
    money cash funds finance financial
    cost price expense fee charge
    job employment work occupation
    school education college university study
    drink beverage
    alcohol alcoholic booze beer wine spirit
    cannabis marijuana weed
    smoke smoking tobacco cigarette
    eat food meal diet
    weight obese
    exercise sport workout
    walk walking
    brain mental mind
    gene genetic hereditary inherited genetics inherit
    stress pressure strain
    cause trigger provoke
    dose dosage
    swallow take
    miss missed skip forget forgotten
    overdose
    pain ache sore painful
    stomach tummy belly abdominal
    vomit sick nausea nauseous queasy
    rash itch itchy hives
    allergy allergic
    breathe breathing breath breathless
    kidney renal
    liver hepatic
    heart cardiac
    blood
    pregnant pregnancy expecting
    breastfeed breastfeeding nursing
    hospital clinic ward
    emergency crisis urgent
    suicide suicidal
    self-harm selfharm
    community social
    lonely isolated isolation alone withdrawn withdraw
    stigma discrimination prejudice
    violent violence aggressive aggression
    common frequent usual
    rare uncommon unusual seldom
    affect impact influence
    improve better improvement
    worsen worse deteriorate aggravate
    help aid assist support
    show demonstrate indicate
    believe think belief thought
    understand grasp understanding
    talk speak speech discuss chat conversation
    hear listen
    see look visual
    feel feeling emotion emotional
    real reality
    daily day everyday
    month monthly
    week weekly
    year yearly annual
    keep maintain continue stay remain
    withhold hold
    reach access
    near nearly almost due
    somewhere place
    store storage
    dry
    joint
    swell swelling swollen
    stool faeces poo
    pack package packet box
    expire expiry expired out-of-date
    label
    chew crush
    meal
    limit restrict
    irritate upset
    milk
    labour delivery
    bleed bleeding
    ulcer
    unused leftover
    throw discard dispose bin rubbish waste
    blame fault
    money cash
    belief idea
    fade ease weaken
    outcome outlook prognosis future
    episode attack
    hear heard
    muddled confused jumbled disorganised confusion
    energy drive motivation
    interest pleasure enjoyment
    fever temperature
    faint fainting collapse
    fit seizure convulsion
    movement twitch
    hungry hunger appetite
    overweight heavy
    dark dim
    quiet silent
    notice spot detect discover
    remind reminder
    suspicious paranoid paranoia mistrust
    sense perceive
    habit routine
    trust rely
    protect guard secure safeguard
    damage break broken harm hurt injure
    carpet flooring
    curtain drape
    photo photograph picture image
    evidence proof
    dispute disagreement conflict argue argument
    decide rule ruling
    complain complaint
    inspect check examine
    order force compel
    refund return repay
    claim apply application
    compensation damages
    arrears owe debt unpaid
    enter entry access
    visit call
    responsible responsibility duty
    replace substitute
    clean tidy
    leak leaking
    ventilation airflow
    fault defect faulty
    reasonable fair sensible
    scheme programme program
    document paper form
    sign signature
    copy duplicate
    choose pick select
    name nominate appoint
    wish preference want
    guess predict
    binding enforceable
    valid
    country nation abroad
    differ vary different
    fully completely full complete
    free
    twin
    birth born
    baby
    city town urban
    death die bereavement
    lose loss
    divorce break-up separation
    lazy laziness
    weak weakness
    character personality
    style approach way
    abuse neglect trauma
    link connect associate relate
    probable likely
    study research trial review
    expert scientist researcher
    average mean
    disease condition
    milder mild gentle
    strong severe intense serious
    short brief
    instant immediate immediately straight
    ask request
    answer reply respond response
    honest truthful
    shame embarrass embarrassing ashamed
    order command
    obey follow
    kind type sort form
    happen occur arise appear
    alter change modify
    maximum limit
    least minimum
    forehand beforehand advance
    long-term lasting lifelong chronic
    team staff service
    nurse nursing
    pharmacist chemist pharmacy
    lawyer solicitor attorney
    side-effect side
    trembling tremor shake shaking shaky
    restless restlessness agitated
    stiff stiffness rigid
    movement move moving
    focus concentrate concentration attention
    memory remember
    motivation drive motivated
    plan organise organize
    problem difficulty trouble struggle challenge hard difficult
    need require
    whole entire complete
    several multiple numerous
    injection inject depot jab
    examine check inspect inspection
    test scan
    diagnosis diagnose diagnosed
    expert specialist professional
    proof evidence
    begin-with first
    agree agreement contract
    agree-to consent
    end-of-tenancy leave vacate move-out
    safe safely safety
    warm warmth heat heating
    cold cool
    water
    percent percentage
    roughly approximately around about nearly almost
    lessen ease relieve relief calm soothe
    choose decide decision choice
    teach learn training skill skills
    goal aim
    live living life
    person people human individual somebody
    man men male
    woman women female
    """.strip().splitlines()
)
"""Groups of words read as one concept."""

OPPOSITES = _pairs(
    """increase/decrease
    sooner/later longer/sooner longer/shorter faster/slower earlier/later
    safe/danger more/less higher/lower before/after start/stop early/late rare/common
    allow/forbid legal/illegal morning/evening day/night morning/night short/long better/worse improve/worsen man/woman
    full/empty with/without always/never gain/lose mild/severe child/adult possible/impossible strong/weak hot/cold
    quick/slow sudden/gradual tenant/landlord true/false cause/prevent include/exclude accept/refuse minimum/maximum
    least/most inside/outside above/below everyone/nobody all/none written/verbal remember/forget pass/fail
    approve/reject voluntary/compulsory temporary/permanent single/double contagious/noncontagious alone/together
    necessary/unnecessary effective/ineffective harmless/danger old/young"""
)
"""Words of which one contradicts the other in the same sentence."""

IRREGULAR = dict(
    _pairs(
        """took/take taken/take children/child men/man women/woman went/go felt/feel heard/hear found/find
    kept/keep left/leave lost/lose thought/think told/tell said/say began/begin begun/begin given/give gave/give
    seen/see saw/see got/get done/do ate/eat eaten/eat slept/sleep drank/drink drunk/drink spoke/speak spoken/speak
    wrote/write written/write knew/know grew/grow grown/grow fell/fall fallen/fall rose/rise risen/rise paid/pay
    built/build sent/send spent/spend meant/mean dealt/deal led/lead broke/break broken/break chose/choose
    chosen/choose hid/hide hidden/hide bought/buy brought/bring caught/catch taught/teach worst/bad feet/foot
    lives/live wives/wife diagnoses/diagnosis psychoses/psychosis therapies/therapy relatives/relative worse/worse
    lying/lie dying/die died/die dies/die news/news species/species analyses/analysis crises/crisis
    forgot/forget forgotten/forget shook/shake shaken/shake held/hold ran/run won/win stood/stand understood/understand
    made/make better/better"""
    )
)
"""Inflections that no suffix rule finds."""

NUMBER_WORDS = {
    "zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8",
    "nine": "9", "ten": "10", "eleven": "11", "twelve": "12",
    "thirteen": "13", "fourteen": "14", "fifteen": "15", "sixteen": "16", "seventeen": "17", "eighteen": "18",
    "nineteen": "19", "twenty": "20", "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70",
    "eighty": "80", "ninety": "90", "hundred": "100", "thousand": "1000", "million": "1000000", "half": "1/2",
    "third": "1/3", "quarter": "1/4", "twice": "2", "double": "2", "thrice": "3", "triple": "3", "dozen": "12",
}  # fmt: skip

UNITS = dict(
    _pairs(
        """mg/mg milligram/mg milligrams/mg mcg/mcg microgram/mcg micrograms/mcg g/g gram/g grams/g ml/ml
    millilitre/ml millilitres/ml milliliter/ml litre/l litres/l l/l percent/% per/% %/% kg/kg iu/iu units/iu
    second/sec seconds/sec minute/min minutes/min min/min hour/hour hours/hour hourly/hour day/day days/day daily/day
    week/week weeks/week weekly/week month/month months/month monthly/month year/year years/year yearly/year
    tablet/tab tablets/tab pill/tab pills/tab capsule/tab capsules/tab drop/drop drops/drop puff/puff puffs/puff
    dose/dose doses/dose time/time times/time people/person person/person adults/person cup/cup cups/cup
    glass/glass glasses/glass pound/£ pounds/£ euro/€ euros/€ dollar/$ dollars/$ degree/deg degrees/deg"""
    )
)
"""What a number may count; a number with another unit is another number."""

NEGATORS = listed(
    """
    not no never nor none nothing nobody neither without cannot cant dont doesnt didnt isnt arent wasnt werent wont
    wouldnt shouldnt couldnt mustnt neednt hasnt havent hadnt aint hardly barely unable"""
)
INVERTERS = listed("stop stopped avoid quit refuse prevent")
"""Verbs that turn what follows them into its opposite, as a negation does."""

ABSOLUTES = listed(
    """
    all every always never everyone everybody nobody completely totally fully entirely definitely certainly guaranteed
    guarantee guarantees guaranteeing cure cures cured proven undoubtedly forever perfectly harmless instantly
    immediately permanently surely impossible any anyone whenever regardless nothing best only must"""
)
"""Words that claim without exception: the source must do so too."""

HEDGES = listed(
    """
    may might can could some many often sometimes usually generally typically most several possibly perhaps maybe
    likely probably about around roughly approximately nearly tends tend partly occasionally rarely few seldom
    suggests suggest seems thought believed"""
)
EVERYDAY = listed(
    """
    sleep rest walk walking outdoors outside fresh air water drink eat regular regularly meal meals healthy balanced
    food exercise active activity activities routine routines break breaks relax relaxing relaxation calm calmly breathe
    breathing slow slowly deep gentle gently music hobby hobbies enjoy fun pleasant simple small step steps patient
    patience kind kindness listen listening talk talking trust trusted trusting friend friends family loved share sharing
    write writing down diary journal notes list record records copy copies keep calm quiet nature light daylight stretch
    time take day daily night bed evening morning week help helps helpful support supportive feel feeling feelings good
    better comfortable safe important normal common people person everyone different difficult hard easy easier ask asking
    question questions plan planning organised schedule reminder reminders set realistic goals goal habit habits screen
    screens caffeine stress stressful reduce lower manage managing cope coping look after care caring yourself honest
    polite politely open clear clearly read reading carefully understand learn learning information decision decisions
    ready prepare wash hands clean tidy warm dry cool place store away reach children label instructions evidence photos
    photo receipts letter letters email emails date dates respect respectful communicate communication connected
    company social contact touch others life wellbeing mood energy worry worries overwhelmed upset tired bored spend
    spending moment pause start try little bit lots things thing way work works find found life general generally
    pressure judge judging blame encourage encouraging remind practice practise balance stay staying get getting
    experience experiences many person vary varies enough own pace useful advice mind recovery"""
)
"""What common advice that nobody disputes is made of."""
