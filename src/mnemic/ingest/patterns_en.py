"""English turns of phrase that tell statements from requests and talk about the talk. Data only.

They are matched at the start of a clause of lower-case words without punctuation, unless said otherwise.
"""

from __future__ import annotations

import re

from .rules import any_line

# Before a statement; it stands without them.
PREFACE = any_line(
    r"""
    by the way
    in fact
    full disclosure
    for (?:what it's worth|the record|context|reference|background)
    to be (?:honest|fair|clear|precise)
    in case (?:it|that) (?:helps|matters)
    just so you know
    so you know
    long story short
    heads up
    (?:good|bad) news
    fun fact
    quick (?:update|note)(?: on [\w ]+)?
    one thing
    in (?:my|our) (?:opinion|view|example|mind|(?:last|previous) (?:chat|conversation))
    (?:on|at|from) my (?:end|side|screen|part)
    for (?:my|our) purposes
    to me(?= it| the| that)
    as far as i (?:know|can tell|understand)
    of course
    in (?:short|other words|addition)
    on top of that
    at the moment
    right now
    these days
    (?:remember|note|keep in mind|bear in mind|don't forget|know|be aware)(?: that)?(?= (?:i|i'm|i've|im|my\
        |we|we're|our)\b)
    i (?:forgot|should|meant|wanted) to (?:mention|say|add|tell you)(?: that)?(?= (?:i|i'm|i've|im|my|we\
        |we're|our)\b)
    i (?:want|need|would like|wanted) you to (?:know|remember)(?: that)?
    you should know(?: that)?
    """,
    head="(?=[a-z])",
)

HYPOTHETICAL = any_line(
    r"""
    (?:let's )?say (?:i|i'm|i've|im|you|you're|my|we|we're|someone|somebody|a|an|there)\b
    suppose\b
    supposing\b
    (?:let's |just )?(?:imagine|assume|assuming)\b
    hypothetically\b
    what if\b
    in (?:a|another) (?:parallel|perfect)\b
    """
)

ROLE_PLAY = any_line(
    r"""
    pretend\b
    act (?:as|like)\b
    (?:let's )?role-?play
    play the (?:role|part)\b
    imagine (?:that )?you(?:'re| are)\b
    (?:i want|i need|i'd like|i would like) you to (?:be|act|play|pretend|take on|become|assume|roleplay)\b
    you(?:'re| are| will be| shall be)(?: now)? (?:a|an|the|my|now)\b(?! (?:lifesaver|genius|star|legend\
        |gem|angel|saint|hero|best|champ|treasure|bot|robot|machine|liar))
    from now on you(?:'re| are)\b
    my character\b
    (?:be|you're|you are) my (?:dungeon|game) master
    """
)

# Matched against the sentence as written: parts handed out to the assistant and the user.
CAST = re.compile(
    r"(?:(?:[Oo]k(?:ay)?|[Ss]o|[Nn]ow),? )?[Yy]ou(?:['’]re| are) (?:[A-Z]\w+|the \w+(?: and| in| of|,))"
    r"|.*\b(?:I['’]?ll|I will|I) (?:be|play|am) (?:the|a|an|your) .*"
    r"\byou(?:['’]?ll| will|['’]re| are|)? (?:be|play|the|a|an|my)\b"
    r"|.*\b(?:text adventure|role-?play|d&d|dnd|dungeons and dragons)\b",
    re.DOTALL,
)

_GENRE = (
    r"(?:story|stories|tale|villain|hero|character|scene|plot|screenplay|play|sketch|skit|fairy ?tale"
    r"|fan ?fic\w*|diary"
    r"|journal entry|speech|poem|ballad|rap|eulogy|fable|myth|novel|novella|chapter|monologue|dialogue|legend"
    r"|parody|backstory|origin|adventure|thriller|sitcom)"
)
# Searched in a request.
FICTION = re.compile(
    r"\b(?:write|plot|compose|create|invent|make up|tell|draft|continue|come up with|outline|give|generate"
    r"|do|start)"
    rf"\b.*\b{_GENRE}\b"
)
IN_FICTION = re.compile(
    r"once upon a time|(?:for|in) (?:a|my|the|our) (?:\w+ )?"
    r"(?:game|novel|story|script|campaign|screenplay|comic|film|movie|play)\b"
)

# "I" with what one says in a conversation, about it or its answers.
TALK_I = any_line(
    r"""
    meant?\b
    (?:saw|read|heard|watched|seen) (?:a(?! lot)|an|the|that|somewhere|something|some|about(?! \d))\b(?!.*\d)
    thinking of (?:a|an) (?:number|animal|word|person|country|city|movie|film|object|thing|celebrity|card\
        |colou?r|song)\b
    came across\b
    looking at (?:the|that|this)\b
    (?:referring|talking about|pointing|joking|promise|swear|understood|suppose|assume|mean|misread)\b
    (?:win|lose|bite|insist|concur|digress|pass|see|give up)$
    can't (?:wait$|believe\b|see\b|tell\b|figure\b|work out\b)
    couldn't agree\b
    stand corrected
    rest my case
    changed? my mind
    be (?:honest|quick|brief|clear|frank)
    want to be clear
    afraid (?:that|it|not|so|the)\b
    get (?:nan|null|none|undefined|zero|it|that|you)\b
    didn't (?:ask|mean|say|want)
    (?:count|counted|typed|retyped) \w+$
    wonder(?:ed|ing)?\b
    guess(?: so)?$
    hear you
    ask(?:ed|ing)?\b
    told you
    said\b
    want(?:ed)? to (?:ask|know|understand|see|check|make sure|hear|talk about|discuss)\b
    need(?: some| your| a bit of)? (?:help|advice|ideas|input|suggestions|feedback|tips|inspiration)\b
    need to (?:know|understand|ask|find out|figure out)\b
    (?:have|got|'ve got|had) (?:a|an|one|another|two|three|some|a few|a couple of|several\
        |no)(?: \w+)?(?: \w+)? (?:questions?|requests?|favou?rs?|doubts?|follow-?ups?|idea|clue\
        |ones? for you)\b
    (?<=[me] )(?:confused|lost|curious|sorry|back|done|ready|kidding|listening|afraid not|not sure|unsure\
        |puzzled)$
    (?<=[me] )(?:not following|following|almost done|nearly done|all set|good|fine|okay|ok|bored)$
    (?<=[me] )(?:curious|confused|not sure|unsure|sorry)\b
    forgot to (?:mention|say|add|tell|ask)
    hope\b
    (?:checked|looked) (?:and|but|again)\b
    don't have (?:time|the time|the energy|any idea)\b
    was thinking (?:something|of something|more|maybe)\b
    (?:choose|pick) \w+$
    (?:dis)?agree(?:$| with (?:the|you|that|this))
    (?:were|was) (?:talking|discussing)
    appreciate\b
    think (?:so|not)\b
    don't think (?:so|that's|this|it's)
    look(?:ing)? forward
    welcome\b
    don't (?:really )?(?:know|see|get|understand|follow|remember|care|mind)\b
    do not (?:know|see|get|understand|follow)\b
    dunno
    stuck(?: on\b|$)
    on my (?:phone|mobile)$
    doubt it
    missed (?:it|that)$
    order you\b
    know (?:that|this|it)$
    (?:figured|worked|sorted|got|solved|fixed) (?:it|that|this)(?: out| working| now)?$
    (?:pasted|sent|typed|copied|hit) the wrong
    trying to (?:understand|figure|work out|learn how|wrap|remember|recall)
    (?:beg|bet)\b
    """,
    head=(
        r"(?:i|i'm|i've|i'd|i'll|im|ive|we|we're|we've)(?: (?:am|was|have|had|just|really|only|also|still"
        r"|even|actually"
        r"|kind of|sort of|kinda|do|did|not|didn't|wasn't|never|always|will|can|then|already|completely"
        r"|totally"
        r"|honestly))* "
    ),
)

_POINTED = (
    r"(?:it|that(?=$| (?:is|was|one|would|should|makes|\w+ly)\b)|this|these|those|them|your (?:\w+ )?\w+"
    r"|(?:the|this|that|these|those|your) (?:\w+ )?(?:one"
    r"|ones"
    r"|versions?|drafts?|answers?|examples?|options?|paragraphs?|titles?|tone|responses?|suggestions?|ideas?"
    r"|explanations?|translations?|lines?|first|second|third|last|part|solution|command|output|list|table)"
    r"|something|anything|everything|more|less|there's|it's|that's)"
)
# "I" with a verb and an object that only the conversation can name.
FEEDBACK = re.compile(
    r"(?:i|i've|i'd|i'll|we|we've|i'm)(?: (?:just|really|also|still|even|have|haven't|had|hadn't|do|did"
    r"|already|will"
    r"|only|think|guess|would|absolutely|so|kind of|kinda|never|almost|totally|completely|can't|cannot))*"
    r" (?:love|loved|like|liked|hate|hated|prefer|preferred|don't like|didn't like|tried|try|did|ran|used"
    r"|use|added"
    r"|copied|pasted|followed|restarted|checked|take|need|want|wanted|was after|found|fixed|saw|got|read"
    r"|enjoyed"
    r"|think|thought|feel|believe|assumed|sent|send|changed|forgot|missed|covered|discussed|mentioned"
    r"|expected"
    r"|understand|knew|know|remember|stuck|done|clicked|installed|downloaded|enabled|talked|spoke|went over)"
    rf" (?:that |all of |both of |most of |exactly |about |of |with |for |on |at |to )?{_POINTED}(?:$| )"
)

TALK = any_line(
    r"""
    (?:(?:i|i've|we) )?(?:gotta|got to|have to|need to|must|should) (?:go|run|leave|jump|dash|head out\
        |head off|sleep)(?: now)?$
    (?:i'm |i am )?(?:off to|heading|going to|headed) (?:bed|sleep|out|off|lunch|dinner|work|class\
        |eat)\b(?: now)?$
    i'll be (?:right |straight )?back\b
    i'll (?:brb|talk to you)
    talk (?:later|soon|tomorrow)
    (?:i'm|i am) (?:out|leaving|going)$
    (?:i )?(?:accidentally|mistakenly)\b
    (?:all|what) i(?:'m| am)? (?:want|need|mean|meant|after|was after|am after|look)
    (?:i )?could (?:use|do with)\b
    (?:i )?was hoping\b
    .*\bmy (?:last|previous|earlier|first|other) (?:message|question|prompt|reply)\b
    (?:our|this|the) (?:chat|conversation)\b
    nothing works
    (?:one|two|three|a few|a couple(?: of)?|some|another|the next|next|last|final|quick|new|other\
        |first)(?: \w+)? (?:more )?(?:questions?|things?|one|ones?|requests?|topic|sec|second|moment\
        |favou?r|points?)(?: for you)?$
    (?:no|not) (?:need|rush|worries|problem|pressure|hurry|thanks|idea|that|this|it|quite|really|yet|sure)\b
    never ?mind
    forget (?:it|that|about it)
    my (?:bad|mistake|fault)\b
    sorry
    apologies
    wrong (?:chat|window|tab)
    (?:the )?same (?:error|thing|problem|issue|result|here)
    hold on
    wait\b
    here(?:'s| is| are| it is| you go| we go)\b
    below (?:is|are)
    as follows
    the following
    so far so
    back to
    about (?:that|this)$
    speaking of
    where were we
    (?:it's|this is) (?:for|about) (?:a|an) (?:\w+ )?(?:\w+ )?(?:assignment|homework|exercise\
        |exercise sheet|quiz)
    (?:that's|this is) (?:all|it|enough|everything)\b
    (?:let me|lemme|let us|let's)\b
    the thing is$
    made up$
    (?:that's|that is|this is|it's|it is) (?:exactly|just|not|precisely|what|the (?:one|answer|best|word))\b
    (?:it's|this is) for my (?:\w+ )?(?:class|course|assignment|homework|project|essay|exam)\b
    it's on the tip\b
    just (?:kidding|joking|curious|checking|wondering|asking)
    (?:you|you're|you've|your|u)\b
    """
)

TRIED = re.compile(
    r"(?:i|i've|we|we've)(?: (?:have|already|also|just|even))* (?:tried|restarted|rebooted|reinstalled"
    r"|googled|updated)"
    r"(?: (?:restarting|reinstalling|rebooting|updating|running|changing|deleting|clearing|adding|removing"
    r"|using)\b|$"
    r"| (?:everything|it|both|the|my) ?(?:$|router|computer|server|app|pc|machine|laptop|service|cache))"
)
PROBLEM = any_line(
    r"""
    .*\b(?:gives?|throws?|shows?|returns?)(?: me)? (?:an?|the|this) (?:\w+ )?(?:error|warning|exception|blank)\b
    .*\bon line \d
    (?:i|i'm|we|it|this)(?: (?:am|just|still|keep|keeps|always))* (?:get|gets|getting|see|seeing|throws?\
        |says?|shows?)\b.*\b(?:errors?|exceptions?|warnings?|token|stack ?trace|segfault|timeouts?|[45]\d\d\
        |undefined|null|quoted)\b
    .*\b(?:doesn't|does not|don't|won't|isn't|not|stopped|never) (?:even )?(?:work|compile|load|run|render\
        |build|start|boot|respond)\b(?! (?:for|at|in|on|as|with))
    .*\b(?:doesn't|does not|isn't|not|stopped) (?:even )?(?:working|compiling|loading|running|rendering\
        |building|starting|booting|responding)\b(?! (?:for|at|in|on|as|with))
    .*\b(?:throws|crashes|crashed|segfaults|fails with|returns (?:none|null|undefined|nothing))\b
    """
)
WHEN_I_RUN = re.compile(
    r"(?:when|whenever|every time|each time|after|as soon as) (?:i|we|you) (?:try to )?(?:run|click|press"
    r"|open|type|hit|tap"
    r"|submit|deploy|compile|call|execute|launch|load|refresh|save|import|log in)\b"
)
COUNTED = re.compile(
    r"(?:how (?:many|much|far|long|old|fast)|what(?:'s| is| are) the (?:odds|probability|chance|total|sum))\b"
)

_UNIT = (
    r"(?:words?|sentences?|lines?|bullets?|bullet points?|paragraphs?|characters|pages?|emojis?|headings?"
    r"|markdown"
    r"|jargon|library|libraries|slides|stanzas|verses|tweets|hashtags|fluff|preamble|explanations?|code)"
)
# How an answer should be.
SPECIFICATION = any_line(
    rf"""
    (?:\w+ )*(?:\d+|{_UNIT}) ?{_UNIT}?(?: (?:max|maximum|min|minimum|tops|or (?:less|fewer)|each|total))$
    (?:no|without|max|maximum|min|minimum|under|below|within|at least|at most|less than|fewer than|up to\
        |exactly|only|around|about|roughly|keep) (?:\w+ )?(?:\w+ )?(?:\w+ )?{_UNIT}\b
    (?:shorter|longer|simpler|funnier|punchier|cleaner)\b
    (?:more|less|not (?:so|too|that)|a bit|a little|slightly|much|way) (?:more |less )?(?:formal|casual\
        |short\w*|long\w*|detail\w*|technical|funny|serious|simpl\w+|concise)\b
    in (?:english|french|german|spanish|chinese|plain english|bullet points|a table|table form|markdown\
        |one sentence)\b
    in (?:layman's terms|simple terms|the style of|your own words)\b
    (?:preferably|ideally|something)\b
    bonus points
    nothing (?:too|fancy)
    (?:any(?:thing)?|whatever|either)(?: \w+)?$
    (?:target|format|tone|audience|length|style|topic|constraints?|requirements?|title|subject|rules?|genre\
        |theme|setting|word count|deadline)$
    """
)

_DELIVERABLE = (
    r"(?:list|recipes?|summary|titles?|names?|words?|poem|story|table|function|query|answer|examples?"
    r"|explanation|way"
    r"|version|template|outline|letter|email|caption|slogan|formula|regex|script|prompt|suggestions?|ideas?"
    r"|itinerary"
    r"|recommendations?|alternatives?|checklist|overview|breakdown|speech|quote|song|playlist|activity"
    r"|worksheet"
    r"|pictures?|image|photo|logo|drawing|opinion|directions|estimate|definitions?)"
)
_FOUND_IN_LIFE = (
    r"(?:jobs?|work|apartment|flat|house|home|place|room|roommate|flatmate|internship|position|car|nanny"
    r"|therapist"
    r"|doctor|daycare|school|partner|dog|cat|investors?|co-?founder)"
)
_I_DO = r"(?:i|i'm|we)(?: (?:just|really|only|also|do|will|am))* "
_I_WOULD = r"(?:i'd|we'd|(?:i|we) would)(?: (?:just|really|only|also|definitely|rather))* "
WANTS = any_line(
    rf"""
    {_I_WOULD}(?:appreciate|welcome|go with|use|say|pick|choose|change|be (?:grateful|interested|curious\
        |glad|happy with))\b
    {_I_WOULD}like to (?:book|order|start|try|use|add)\b
    {_I_WOULD}(?:have|see|get|keep|use|do) (?:it|this|that|the)\b
    {_I_WOULD}(?:like|love|prefer) (?:you|your|a|an|the|it|this|that|some|something|more|if|another|one)\b
    {_I_WOULD}(?:like|love|prefer) to (?:know|see|hear|ask|understand|get|have|read|discuss|make|find)\b
    (?:i|we) (?:just|only) (?:want|need)\b
    (?:i|we) don't (?:want|need) (?:any|all|the|that|this|it|so|too|you)\b
    {_I_DO}(?:want|need|require) (?:you|your|this|that|it|these|something|more|another|ideas|only)\b
    {_I_DO}(?:want|need) (?:two|three|four|five|six|ten|a few|a couple|several|\d+) (?:more\
        |(?:\w+ )?examples)\b
    {_I_DO}(?:want|need) (?:an? |the |some |\w+ )?(?:\w+ )?(?:\w+ )?(?:\w+ )?{_DELIVERABLE}\b
    {_I_DO}need (?:an?|some) (?:\w+ )(?:\w+ )?(?:\w+ )?(?:that|which|for|about|on)\b
    {_I_DO}(?:looking|searching|hunting) for (?!.*\b{_FOUND_IN_LIFE}\b)
    (?:a|an|another|one|two|three|five) (?:\w+ )?(?:\w+ )?(?:\w+ )?{_DELIVERABLE}\b
    """
)

# Searched anywhere: what holds for every answer from now on.
STANDING = re.compile(r"\b(?:ever|in general|generally|from now on|going forward|by default|as a rule)\b")

COUNTERFACTUAL = re.compile(
    r"(?:if|unless)\b.*\b(?:were|was|had|won|could|would|did|\w+ed|moved|got|went|became|lost|found"
    r"|offered)\b"
)
WOULD = re.compile(r"\b(?:would|wouldn't|i'd|we'd|he'd|she'd|they'd|it'd|could|might)\b")

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
# Searched anywhere: a day, a week or a year one can name.
DATE = any_line(
    rf"""
    {_MONTH} \d+(?:st|nd|rd|th)?
    \d+(?:st|nd|rd|th)?(?: of)? {_MONTH}
    (?:by|in|since|until|till|before|after|from) {_MONTH}
    (?:on|next|last|this|every|until|by) (?:mon|tues|wednes|thurs|fri|satur|sun)days?
    (?:next|last) (?:week|weekend|night|month|year|spring|summer|fall|autumn|winter)
    yesterday
    tomorrow
    (?:on|by|until|till|before|from|since) the \d+(?:st|nd|rd|th)
    \d\d\d\d-\d\d-\d\d
    """,
    head=r"\b",
)
# A fragment about the user without subject and verb.
FRAGMENT = re.compile(
    r"(?:(?:not|never|always|big|huge|massive|lifelong|still) )*(?:a )?(?:big |huge |massive )?(?:fan of|into"
    r"|religious|married"
    r"|single|pregnant|vegan|vegetarian)\b|\d+ years? old|(?:no|two|three|four|one) (?:kids|children|pets"
    r"|dogs|cats|siblings)\b"
    r"|between jobs|(?:huge|big) \w+ fan\b|no (?:dairy|gluten|meat|pork|nuts|alcohol|sugar|fish|eggs) for me|\d+'\d"
)
THIS_TIME = re.compile(
    r"(?:this|that|these|those) (?:week|weekend|month|year|morning|afternoon|evening|spring|summer|fall"
    r"|autumn|winter"
    r"|time|days|semester|quarter|friday|monday|sunday|saturday)"
)
# An "it" that stands for nothing said before.
WEATHER = re.compile(
    r"it(?:'s| is|'s been| has been) (?:\w+ )?(?:sunny|rainy|raining|snowing|cold|hot|warm|windy|cloudy"
    r"|freezing|humid|late|early|dark|\d+ degrees|monday|tuesday|wednesday|thursday|friday|saturday|sunday"
    r"|spring|summer|autumn|winter|christmas)\b"
)
THE_OTHER = re.compile(
    r"(?:the|one|both|most|some) (?:new|other|last|first|second|old|older|younger|same|two|of)"
    r"(?: (?:one|ones|two|them|which|us))\b"
)
AFTER_THAT = re.compile(
    r"(?:before|after|because of|since|besides|despite|until|instead of|apart from|on top of) (?:that|then"
    r"|this|it)\b"
)

SIGN_OFF = re.compile(
    r"(?:(?:kind|best|warm|warmest|many|with kind)? ?(?:regards|wishes)|yours(?: sincerely| faithfully"
    r"| truly)?|sincerely"
    r"|best|cheers|love|take care|respectfully|xoxo)$"
)
GREETS = any_line(
    r"""
    good (?:morning|afternoon|evening|night|day)
    happy \w+(?: \w+)?
    merry christmas
    nice to (?:meet|see) you
    hope (?:you|this|all|everyone|things)
    how are you
    how's it going
    what's up
    take care
    see (?:you|ya)
    talk (?:soon|to you)
    have a (?:good|nice|great|lovely)
    to whom it may
    """
)
