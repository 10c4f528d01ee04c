"""English word classes that tell statements from requests, questions and small talk. Data only."""

from __future__ import annotations

from .rules import words

# Base forms that, at the start of a clause, tell the assistant what to do.
IMPERATIVES = words(
    """add adjust advise analyze analyse answer apply argue arrange ask assess assign assume avoid be begin
    bold brainstorm break build calculate call calm cancel capitalize categorize change check choose cite
    clarify classify clean combine compare complete compose compress compute condense consider continue
    convert copy correct count create critique cut debug decide define delete describe design detail
    detect determine dig discuss display divide do double draft draw drop edit elaborate email emulate end
    enlighten ensure estimate evaluate examine expand explain explore extend extract factor fetch figure
    fill filter find finish fix focus forget format generate get give go group guess guide halve help
    highlight identify ignore illustrate imagine implement improve include inspect insert invent
    investigate join judge keep label lay lead leave let limit list locate look lose make map mark match
    memorize mention merge mimic minify modify move name narrate note number offer omit open optimize
    order organize outline output paint paraphrase parse pick pitch plan play plot point polish predict
    prepare present pretend print prioritize process produce proofread propose prove provide pull
    punctuate put quiz quote rank rate read reason recall recap recite recommend reconsider redo reduce
    refactor refer refine reformat regenerate rename reorder reorganize repeat rephrase replace reply
    report research reset resize respond restart restate restructure retry return reverse review revise
    reword rewrite roast roll run save scan schedule score search see select send separate set share
    shorten show shuffle simplify sing sketch skip slow solve sort speak specify spell split start state
    stay stick stop structure style substitute talk feel remind chat double-check ping suggest sum
    summarize summarise swap switch take teach tell test think throw tidy tone transcribe transform
    translate trim try turn tweak type undo update use validate verify visualize wait walk watch weigh
    wish wrap write"""
)

# Base forms that open a statement whose "I" is left out: "Live in Leeds", "Love my new desk".
ELIDED_BASE = words(
    """live work love hate dislike prefer own have drink eat study wear smoke suffer enjoy commute rent
    belong tend need want"""
)

# Past and participle forms that do the same: "Moved to Leeds", "Broke up with Jules".
IRREGULAR_PAST = words(
    """became began been bought broke brought built came caught chose cut did drank drove ate fell felt
    fought found forgot gave got grew had heard hit hurt kept knew learnt left lent lost made met moved
    paid put quit ran sat saw sent sold slept spent spilled spoke stood started stopped switched taught
    thought threw told took torn tore went won woke wore wrote born married divorced diagnosed turned"""
)
NOT_PAST = words(
    """indeed need needed red bed fed speed seed feed weed deed hundred sacred naked wicked unrelated related
    based detailed advanced mixed limited attached pasted assumed supposed noted understood agreed solved
    fixed fascinated sorted confirmed copied interested excited confused used expected"""
)

# People who need no "my" to be the user's own.
KIN = words(
    """mom mum mam mama mommy mummy dad daddy papa grandma grandpa granny nana grandad granddad hubby wifey
    fiancé fiancée fiance fiancee"""
)
# With "the" they are the user's own as well.
OWN_WITH_THE = words(
    """kid kids baby babies wife husband boys girls twins dog dogs cat cats puppy kitten wedding in-laws landlord
    landlady doctor vet boss surgery biopsy lease mortgage divorce funeral contractor plumber nursery daycare movers
    neighbors neighbours tenants insurance move honeymoon renovation"""
)

FIRST_PERSON = words(
    """i i'm i've i'd i'll im ive ill id me my mine myself we we're we've we'd we'll our ours ourselves us
    imma"""
)
FIRST_SUBJECTS = words("""i i'm i've i'd i'll im ive we we're we've we'd we'll imma""")
POSSESSIVES = words("""my our mine ours""")
LEANING = words(
    """he he's he'd he'll she she's she'd she'll they they're they've they'd they'll it it's it'll it'd its
    his him them their theirs hers this that that's these those both neither either then there there's
    same"""
)
PERSONAL_LEANING = words(
    """he he's he'd he'll she she's she'd she'll they they're they've they'd they'll his her him them their"""
)

AUXILIARIES = words(
    """can could would will should shall do does did is are was were am have has had may might must isn't
    aren't don't doesn't didn't won't can't couldn't shouldn't wouldn't haven't hasn't wasn't weren't
    ain't"""
)
AFTER_AUXILIARY = words(
    """i you he she it they we this that these those there the a an my your our his her their any anyone
    anybody someone somebody anything something people everyone everybody"""
)
WH = words("""what what's whats who who's whom whose which where where's when when's why why's how how's""")

# Words that say nothing by themselves; a clause made of these alone is no statement.
EMPTY = words(
    """a an the and or but so if then than as of at by for with about to in on out up off over it it's its
    this that that's these those there is am are was were be been being do does did don't doesn't didn't
    have has had i i'm i've i'd i'll im you you're me my we us not no yes yeah yep nope nah ok okay well
    oh ah um uh hmm hm just really very too also still again now here one thing things something anything
    everything either neither both all same sure maybe perhaps honestly actually basically literally
    probably let's lets such kind sort sorta kinda like get got go going think know mean see guess hope
    will would can could should may might what how why when where who which please sorry lol haha ha right
    much many more most some any other another way bit lot anyway though whatever"""
)

# What people say of an answer rather than of their life.
EVALUATIVE = words(
    """good great nice cool awesome amazing perfect excellent fantastic wonderful brilliant lovely neat sweet
    solid fine helpful useful interesting fascinating hilarious funny fun fair true correct wrong right
    clear confusing better best worse exact exactly sense makes make works worked working helps helped
    handy clever smart wild crazy insane beautiful impressive noted understood agreed gotcha done deal
    superb spot job work answer point idea call enough bad weird strange odd surprising love"""
)

ACKNOWLEDGEMENTS = words(
    """ok okay k kk okey okie yes yeah yep yup ya yea no nope nah sure right alright great cool nice perfect
    awesome good fine gotcha understood noted agreed exactly indeed totally absolutely definitely true
    fair hmm hm hmmm mhm mm uh um oh ah aha wow whoa huh lol lmao haha hahaha ha heh hehe yay ugh phew
    oops whoops brb ttyl deal done excellent brilliant fantastic wonderful amazing lovely sweet neat roger
    copy interesting correct"""
)

THANKS = words("""thanks thank thx thanx ty tysm tnx cheers appreciate appreciated kudos""")

GREETINGS = words(
    """hi hello hey heya hiya yo howdy greetings morning afternoon evening gm gn goodnight goodbye bye sup
    welcome ciao salut hola regards sincerely xoxo"""
)
# What may stand beside a greeting, thanks or an acknowledgement without making it a statement.
GREETING_FILL = words(
    """there everyone all good you to a an the and again so very much your yours for day night weekend
    morning afternoon evening dear hi hello hey kind best warm warmest regards wishes take care see ya
    later soon talk tomorrow nice have happy merry new year christmas birthday easter holidays hope well
    doing is are this finds friend buddy mate folks team guys y'all from me back with love faithfully
    truly cordially"""
)

FILLERS = words(
    """so well actually ok okay oh ah um uh hmm hm anyway anyways btw fwiw also and but plus honestly haha ha
    lol yeah yes yep no nope sure right alright hey hi hello basically literally seriously frankly man
    dude bro again still first second third firstly secondly finally lastly next now then please pls plz
    kindly just maybe perhaps ugh wow yay oops damn omg update reminder fyi ps p.s afterwards meanwhile
    otherwise currently recently lately usually normally generally already sometimes often mostly though
    because since cause cuz 'cause as or"""
)

# Subjects whose trouble is the task at hand, and words of a task's specification.
TECHNICAL = words(
    """code script function query compiler regex loop method output input file files terminal console
    variable array string table endpoint api server container pod deploy deployment pipeline exception
    stack trace log logs database schema repo package dependency css html component spreadsheet formula
    macro parser json yaml xml csv url intervals webpage app browser nan null"""
)

# What a conversation and its texts are made of: the user who speaks of these speaks of the task.
TASK = words(
    """answer question word option error line bracket semicolon paragraph sentence draft tone wording prompt
    link step example template version summary explanation translation reply response suggestion chart
    part formula ending typo phrase phrasing syntax bullet title caption headline intro outro conclusion
    chapter format font code instruction request result command screenshot attachment exercise problem
    riddle quiz hint clue sides triangle equation integer digit decimal vowel syllable synonym comma
    apostrophe hyphen citation dataframe dictionary row access joke plot verb noun adjective tense plural
    accent placeholder"""
)
# The user's turn in the conversation, after "my".
MY_TURN = words(
    """question point answer guess prompt turn request message mistake input query intent understanding wording
    instructions draft text move choice"""
)
# What may follow it: "my point is", where "my draft notice" is something else.
TURN_IS = words("is was were isn't wasn't about on for regarding should would here too had has got didn't")
# People who at the start of a clause need no "my".
BARE_KIN = words(
    """wife wife's husband husband's son son's daughter daughter's brother brother's sister sister's boyfriend
    boyfriend's girlfriend girlfriend's partner partner's boss roommate kids"""
)
# What belongs to a life, where the clause leaves out its subject.
LIFE_STARTS = words(
    """rent salary budget budget's take-home work home size height weight allergies hobbies pronouns job family birthday
    anniversary vegetarian"""
)
# What makes of work with such things a part of the user's life.
LIFE = words(
    """work job company team career degree living years year daily every always usually often never
    professionally general generally ever boss client clients colleague school university college thesis
    book novel"""
)
# Verbs of what the user will do next with an answer, after "I'll".
NEXT_STEP = words(
    """try think give go take change copy check let look see do use wait start keep add send post fix read
    ask pick choose test remember consider paste show tell stick update apply implement rewrite come get
    leave"""
)
# Verbs of the task itself, after "need to".
TASK_VERBS = words(
    """convert write find calculate translate fix make create solve explain describe prove compute choose
    print parse draft count compare sort format rewrite summarize design build generate determine show
    implement install"""
)

# Of the technical ones, those that are only ever the task when they are "my".
CODE = words(
    """code script function program query compiler regex loop method output input terminal console variable
    array string endpoint container pod pipeline exception log logs macro parser json yaml html css url
    build"""
)
# Feelings and standings of the moment: "I'm impressed".
MOODS = words(
    """confused impressed speechless right wrong joking kidding amazed surprised shocked sold convinced
    interested intrigued tired hungry bored sleepy done stuck lost sad happy glad grateful thankful
    excited curious ready sure sorry afraid ears in here back out on serious stunned relieved annoyed
    frustrated jealous proud pleased honored flattered obsessed free busy late silly dumb stupid better
    bad weird"""
)
# What the assistant did, after "you".
YOU_DID = words(
    """gave wrote said told suggested sent showed explained mentioned listed skipped made used recommended
    generated provided asked answered forgot missed left added changed put called posted repeated included
    picked chose meant did were keep kept seem"""
)

THANKING = ("i appreciate", "much appreciated", "we appreciate", "many thanks")
# Wh-words that, later in a sentence, open a clause about what was just named.
RELATIVE = words("""who which where whose whom who's where's""")
ELIDED_AUXILIARY = words("""can't won't didn't haven't wasn't couldn't never""")
# Adjectives that, at the start of a clause, leave out "I'm".
STATES = words(
    """allergic vegan vegetarian pescatarian diabetic pregnant single married divorced widowed retired
    unemployed celiac coeliac autistic colorblind colourblind lactose gluten-free freelance self-employed
    born"""
)
# Words in -ing that are no verb whose "I'm" is left out.
NO_GERUND = words(
    """nothing something anything everything morning evening during king thing being according regarding
    considering including following spring string wedding building meeting parking training ceiling
    feeling sibling darling ring bring sing interesting amazing exciting annoying confusing boring missing
    loving outstanding assuming depending speaking making fascinating hosting shipping pricing housing
    clothing"""
)
COPULAS = words("""is was were are has had will would can could isn't wasn't of that's""")
SUBORDINATE = words("""if unless whether when whenever while once after before until till""")
HELPED = words(
    """made makes helps helped saved solved answers answered worked works explains explained fixed"""
)
# Subjects that only the conversation can name.
VAGUE = words("""it that this nothing none everything someone somebody bear beats looks""")
