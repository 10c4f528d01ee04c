"""Function words per language: what stop words are and what tells languages of one script apart. Data only.

Short on purpose: words that can carry meaning in a memory (will, may, first, good) are no stop words, since BM25
weighs frequent words down by itself while a dropped word can never be found.
"""

from __future__ import annotations

# ISO 639-1 code -> words left out of the index, as people write them (folded when loaded).
FUNCTION_WORDS: dict[str, str] = {
    "en": """a an the and or but if then than so as of at by for with about into onto from to in on out
        off over under again once here there when where why how what which who whom whose that this these
        those is am are was were be been being have has had having do does did doing done would could
        should shall i me my myself we our ours ourselves us you your yours yourself he him his himself
        she her hers herself it its itself they them their theirs themselves not no nor too very just
        because while until such any some both each also can im ive dont""",
    "de": """der die das den dem des ein eine einen einem einer eines und oder aber denn weil dass ob wenn
        als wie ich du er sie es wir ihr mich dich ihn uns euch mir dir ihm ihnen mein meine meinen meinem
        meiner dein deine sein seine seinen seinem seiner ihre ihren ihrem ihrer unser unsere euer eure
        ist bin bist sind seid war waren wurde wurden wird werden werde hat habe haben hatte hatten sich
        nicht kein keine keinen nur noch auch schon sehr so da dann hier dort von vom mit zu zum zur in im
        an am auf aus bei beim für nach vor über unter um durch gegen ohne bis seit was wer wo wann warum
        welche welcher welches dieser diese dieses diesem diesen man doch mal hab""",
    "fr": """le la les l un une des du de d et ou mais donc car ni que qu qui quoi dont où si je j tu il
        elle on nous vous ils elles me m te t se s lui leur y en moi toi soi eux mon ma mes ton ta tes son
        sa ses notre nos votre vos leurs ce c cet cette ces ça cela est suis es sommes êtes sont était
        étais étaient être été ai as a avons avez ont avait avais avoir ne n pas plus dans sur sous avec
        sans pour par chez vers entre à au aux très aussi quand comment pourquoi quel quelle quels quelles
        ici là""",
    "es": """el la los las lo un una unos unas de del al a y e o u pero si sino que qué quien quién cual
        cuál como cómo cuando cuándo donde dónde porque por para con sin en sobre entre hasta desde yo tú
        él ella nosotros vosotros ellos ellas usted ustedes me te se nos os le les mi mis tu tus su sus
        nuestro nuestra es soy eres somos son era eran fue fueron ser está estoy están estaba ha he has
        han había hay no ni muy más ya también este esta esto estos estas ese esa eso esos esas""",
    "it": """il lo la i gli le l un uno una di del dello della dei degli delle d a al allo alla ai agli
        alle da dal dallo dalla dai dalle in nel nello nella nei nelle su sul sulla sui con per tra fra e
        ed o ma se che chi cui come quando dove perché io tu lui lei noi voi loro mi ti si ci vi ne mio
        mia miei mie tuo tua suo sua suoi sue nostro nostra è sono sei siamo siete era erano essere stato
        ho hai ha abbiamo hanno aveva non più molto anche già questo questa questi queste quello quella
        quale quali cosa""",
    "pt": """o a os as um uma uns umas de do da dos das d em no na nos nas num numa por pelo pela pelos
        pelas para pra com sem sobre entre até e ou mas se que quem qual quais como quando onde porque eu
        tu ele ela nós vocês você eles elas me te lhe lhes meu minha meus minhas teu tua seu sua seus suas
        nosso nossa é sou são foi eram era ser está estou estão estava tem tenho têm tinha há não nem mais
        muito já também este esta isto esse essa isso ao aos à às""",
    "nl": """de het een en of maar want dat die dit deze als dan toen ik jij je u hij zij ze wij we jullie
        mij me jou hem haar ons hen hun mijn jouw zijn onze is ben bent was waren wordt worden werd heb
        hebt heeft hebben had hadden niet geen ook nog wel al zo er hier daar van voor met in op aan te om
        bij naar uit over door tot tegen onder zonder wat wie waar wanneer waarom hoe welke welk zich""",
    "sv": """en ett den det de dem och eller men att som om när där var jag du han hon vi ni mig dig honom
        henne oss er min mitt mina din ditt dina sin sitt sina hans hennes vår vårt våra deras är vara
        varit blir blev har hade inte ej också bara mycket så i på av för med till från vid hos under över
        efter utan hur vad vem vilken vilket varför denna detta dessa sig än""",
    "da": """en et den det de dem og eller men at som om når der hvor jeg du han hun vi i jer mig dig ham
        hende os min mit mine din dit dine sin sit sine hans hendes vores deres er var være været bliver
        blev har havde ikke også kun meget så på af for med til fra ved hos under over efter uden hvad
        hvem hvilken hvorfor hvordan denne dette disse sig nogle noget end""",
    "no": """en et ei den det de dem og eller men at som om når der hvor jeg du han hun vi dere meg deg
        ham henne oss min mitt mi mine din ditt dine sin sitt sine hans hennes vår vårt våre deres er var
        være vært blir ble har hadde ikke også bare mye veldig så i på av for med til fra ved hos under
        over etter uten hva hvem hvilken hvorfor hvordan denne dette disse seg noen noe enn ikkje eg""",
    "fi": """ja tai mutta että jos kun kuin niin joka jotka mikä mitä kuka missä milloin miksi miten minä
        sinä hän me te he se ne minun sinun hänen meidän teidän heidän minua sinua minulla minulle sinulla
        hänellä on ole olen olet olemme olette ovat oli olin olivat ollut olla ei en et emme ette eivät
        myös vain vielä jo sekä tämä tuo nämä sitä sen siitä siinä kanssa ennen jälkeen""",
    "hu": """a az egy és vagy de hogy ha mert mint is nem ne csak már még meg ki be el fel le én te ő mi
        ti ők engem téged őt nekem neked neki nekünk van vagyok vagyunk vannak volt voltam voltak lesz
        lett ez azt ezt ennek annak aki ami amely amit akkor amikor hol mikor miért hogyan mit nagyon itt
        ott""",
    "pl": """i a w we z ze na do od po za o u dla przez przy pod nad bez oraz lub albo ale że żeby by czy
        jak jako gdy kiedy gdzie kto co który która które którzy ja ty on ona ono my wy oni one mnie mi
        mną ciebie ci cię jego jej go mu nas nam was wam ich im mój moja moje mojej mojego twój twoja swój
        swoje jest są jestem jesteś był była było były być nie się to ten ta te tego tej tym tych też już
        tylko bardzo więc dlaczego""",
    "cs": """a i v ve z ze na do od po za o u pro přes při pod nad bez nebo ale že aby by jak jako když
        kdy kde kdo co který která které kteří já ty on ona ono my vy oni mě mně mi mnou tebe ti tě jeho
        její ho mu nás nám vás vám jich jim můj moje má mé tvůj svůj je jsou jsem jsi jsme byl byla bylo
        byli být není ne se si to ten ta te toho té tom také už jen velmi proč s k ke""",
    "sk": """a aj v vo z zo na do od po za o u pre cez pri pod nad bez alebo ale že aby by ako keď kedy
        kde kto čo ktorý ktorá ktoré ja ty on ona ono my vy oni mňa mne mi mnou teba ti ťa jeho jej ho mu
        nás nám vás vám ich im môj moja moje tvoj svoj je sú som si sme bol bola bolo boli byť nie sa to
        ten tá tie toho tej tom tiež už len veľmi prečo s k ku""",
    "ro": """un o niște al a ai ale și sau dar că să dacă de la din în pe cu fără pentru prin între până
        ca ce care cine cum când unde eu tu el ea noi voi ei ele mă te se ne vă îl îi le mi ți lui lor meu
        mea mei tău ta său sa este e sunt ești suntem era erau fost fi am are au avea nu nici mai
        foarte acest această acel aceasta acesta si in""",
    "tr": """bir ve veya ya ama fakat ki ile için gibi kadar de da mi mı mu mü ben sen o biz siz onlar
        beni seni onu bana sana ona benim senin onun bizim sizin onların bu şu bunu şunu ne kim nerede
        nasıl neden niçin hangi var yok değil daha çok en her hem ise olan olarak oldu olduğu diye çünkü
        bende burada""",
    "ca": """el la els les l un una uns unes de del dels d a al als i o però si que qui què quan com on
        perquè per amb sense en sobre entre fins des jo tu ell ella nosaltres ells elles em et es ens us
        li meu meva meus seu seva seus aquest aquesta aquests això és soc són era estava ha he han hi ho
        no ni molt més ja també està""",
    "id": """yang dan atau tetapi tapi karena jika kalau bahwa untuk dari di ke pada dalam dengan oleh
        tanpa sebagai saya aku kamu anda dia ia kami kita mereka ini itu adalah ada tidak bukan belum
        sudah telah akan sedang juga saja lebih sangat apa siapa mana kapan mengapa bagaimana nya para""",
    "et": """ja või aga et kui nagu ning ka ei ega on oli olen oled oleme olete olnud olla ma mina sa sina
        ta tema me meie te teie nad nemad mu minu su sinu mind sind teda mul mulle see seda selle need kes
        mis mida kus millal miks kuidas siin seal veel juba väga koos""",
    "lt": """ir ar bet kad kai jei nes kaip o tai į iš su be ant po prie per nuo iki dėl apie aš tu jis ji
        mes jūs jie jos mane mano man tave tavo tau jo jam juos mūsų jūsų yra esu esi buvo būti nėra ne
        taip pat šis ši tas ta kas kur kada kodėl kuris kuri labai jau dar tik""",
    "lv": """un vai bet ka kad ja jo kā arī ar no uz par pie pēc pirms bez līdz ir esmu esi bija būt nav
        es tu viņš viņa mēs jūs viņi man mans mana tev tavs viņam mūsu jūsu šis šī tas tā kas kur kāpēc
        ļoti jau vēl tikai""",
    "ga": """an na agus nó ach go nach ní níl is tá bhí bhfuil raibh mé tú sé sí muid sibh siad mo do a ár
        bhur ag ar as le i in sa san don den faoi roimh ó chuig gur cad cé conas seo sin liom leat leis""",
    "eu": """eta edo baina ere ez da dira naiz zara gara zen ziren du dut duzu dute ditu dago nago ni zu
        hura gu zuek haiek nire zure bere gure hau hori hauek bat zer nor non noiz zergatik nola oso izan
        baino""",
    "eo": """la kaj aŭ sed ke se ĉar kiel kiam kie kiu kio kies mi vi li ŝi ĝi ni ili oni mia via lia ŝia
        nia ilia estas estis estos esti ne al de en el por per kun sen sur sub pri ĉe ĝis tre ankaŭ jam
        tiu ĉi""",
    "st": """ke ka ho ha hae le ba bona e ea ya tsa wa mo moo ne o re hore empa kapa na ena rona lona ntle
        hona ntho eo seo sa se a di""",
    "hr": """i ili ali da ako jer kao što koji koja koje koju kojih u na za od do iz s sa o po pri bez kod
        ja ti on ona ono mi vi oni me mene te tebe ga mu joj ju nas nam vas vam ih im moj moja moje tvoj
        svoj njegov njen je sam si smo ste su bio bila bilo bili biti nije nisam ne se to taj ta tko ko
        gdje gde kada zašto kako vrlo samo već još""",
    "sl": """in ali pa da če ker kot ki kdor v na za od do iz s z o po pri brez jaz ti on ona mi vi oni me
        mene te ga mu jo nas nam vas vam jih jim moj moja moje tvoj svoj njegov njen je sem si smo ste so
        bil bila bilo bili biti ni nisem ne se to ta kdo kaj kje kdaj zakaj kako zelo samo že še tudi""",
    "is": """og eða en að sem ef þegar því ekki ég þú hann hún það við þið þeir þær þau mig þig mér þér
        honum henni okkur minn mín mitt þinn sinn hans hennar er var eru voru vera verið hefur hafa á í
        til frá um með fyrir af úr hvað hver hvar hvernig mjög líka bara""",
    "tl": """ang ng sa mga na at ay o ni si kay ako ikaw ka siya kami tayo kayo sila ko mo niya namin
        natin ninyo nila akin ito iyan iyon dito hindi wala may mayroon kung dahil para ano sino saan
        kailan bakit paano po rin din lang pa ba""",
    "vi": """và hoặc nhưng của là có không được cho với trong trên từ đến ở khi nếu thì mà như đã đang sẽ
        cũng tôi bạn anh chị nó chúng ta họ này kia đó các những một rất gì ai đâu bao sao vì tại bởi về
        ra vào""",
    "sw": """na ya wa za la kwa ni katika au lakini kama kwamba hii hiyo huyo yake yangu wake wangu yeye
        mimi sisi wao si sana pia nini nani wapi lini kwenye cha vya""",
    "af": """die 'n en of maar dat wat as is was het nie ek jy hy sy dit ons hulle my jou hom haar se van
        vir met op in na om te by aan uit hierdie daardie wie waar hoekom baie ook""",
    "ru": """и в во не что он на я с со как а то все она так его но ты к у же вы за бы по ее мне меня из
        ему когда даже ну ли если или ни быть был него до вас уж вам ведь там потом себя ей они тут где
        есть для мы тебя их чем была было были сам чтоб без чего себе под ж кто этот того потому этого
        какой ним здесь этом мой моя мое мои моей моего тем чтобы нее об от при это эта эти о про после
        над через эту тебе нас нам твой свой уже очень также тоже зачем почему""",
    "uk": """і й та в у не що він на я з із зі як а то все вона так його але ти до же ви за б би по її
        мені мене йому коли навіть чи якщо або ні бути був була було були ще вас вам там тут де є для ми
        тебе їх ким хто цей ця це ці того тому цього від при про після під над через нас нам мій моя моє
        твій свій вже дуже також чому який яка які яке щоб""",
    "be": """і й ў у не што ён на я з са як а то ўсё яна так яго але ты да ж вы за б бы па яе мне мяне яму
        калі нават ці або быў была было былі яшчэ вас вам там тут дзе ёсць для мы цябе іх хто гэты гэта
        гэтая таму ад пры пра пасля пад над праз нас нам мой мая маё твой свой ужо вельмі таксама чаму які
        каб""",
    "bg": """и в във на не че той се си аз с със как а то тя така го но ти за от до по му ѝ ми ме мен
        когато или ако ни да беше бях съм е са сме сте ще ви там тук къде има ние те вас нас им кой коя
        какво този тази това тези при след под над без през мой моя моето твой свой вече много също защо
        който която което които""",
    "mk": """и во на не што тој се си јас со како а тоа таа така го но ти за од до по му ми ме мене кога
        или ако ни да беше бев сум е сме сте ќе ви таму тука каде има ние тие вас нас им кој која овој
        оваа ова овие при под над без низ мој моја мое твој свој веќе многу исто зошто""",
    "sr": """и или али да ако јер као што који која које у на за од до из с са о по при без код ја ти он
        она оно ми ви они ме мене те тебе га му јој ју нас нам вас вам их им мој моја моје твој свој његов
        њен је сам си смо сте су био била било били бити није нисам не се то тај та ко где када зашто како
        врло само већ још""",
    "el": """ο η το οι τα του της των τον την τους τις ένας μια ένα και ή αλλά ότι πως που αν όταν γιατί
        όπως εγώ εσύ αυτός αυτή αυτό εμείς εσείς αυτοί με σε μου σου μας σας είναι είμαι είσαι είμαστε
        ήταν ήμουν έχω έχει έχουν είχε θα να δεν μην από για στο στη στην στον στα στους στις κατά μετά
        πριν χωρίς τι ποιος ποια ποιο πού πότε πολύ πιο""",
    "hy": """և ու կամ բայց որ եթե երբ քանի ինչպես ես դու նա մենք դուք նրանք իմ քո նրա մեր ձեր նրանց ինձ
        քեզ նրան մեզ է եմ են ենք եք էր էի էին չէ չի այս այդ այն համար հետ մեջ վրա մասին ինչ ով որտեղ որը
        որոնք նաև շատ""",
    "ar": """و في من على إلى الى عن مع أن ان إن أو او ثم لكن بل لا ما لم لن قد هو هي هم هن أنا انا أنت انت
        نحن هذا هذه ذلك تلك الذي التي الذين كان كانت يكون كل بعد قبل بين حتى عند إذا اذا كما لأن لي له لها
        لهم به بها فيه فيها منه منها عليه عليها أين متى كيف لماذا ماذا هل يا أي أيضا جدا""",
    "fa": """و در از به که این را با است برای آن تا بر یا هم اما اگر چون من تو او ما شما آنها ایشان مرا
        هستم هستی هست هستیم هستند بود بودم بودند شد می نمی ها های ام ات اش یک چه کی کجا چرا چگونه خود نیز
        پس خیلی ولی نیست دارم دارد رو""",
    "ur": """اور کے کی کا ہے میں سے کو پر ہیں نے یہ وہ کہ تو ہو بھی ہی تھا تھے تھی ہوں میرا میری میرے تم
        آپ ہم اس ان جو یا لیکن اگر کیا کون کہاں کب کیوں کیسے ایک نہیں اپنے اپنی ساتھ لئے لیے تک گا گی گے
        مجھے""",
    "hi": """के का की है हैं में से को और ने पर भी एक यह वह ये वे तो ही नहीं हो हूँ हूं था थी थे कि जो या लेकिन अगर मैं तुम आप
        हम मेरा मेरी मेरे मुझे मुझको तुम्हारा आपका हमारा उसका उसकी उसके इस उस इन उन अपने अपना अपनी लिए साथ तक क्या कौन
        कहाँ कब क्यों कैसे बहुत रहा रही रहे""",
    "ne": """को का की मा ले लाई छ छन् छु हो हुन् थियो थिए र पनि यो त्यो यी ती म मेरो तिमी तपाईं हामी हाम्रो उनी उहाँ
        उनको एक भने तर अनि लागि सँग बाट के कहाँ कहिले किन कसरी धेरै गरेको भएको""",
    "mr": """आणि आहे आहेत आहेस होता होती होते मी तू तो ती ते आम्ही तुम्ही माझा माझी माझे मला तुला त्याला तिला त्याचा
        त्याची हा ही हे या व पण किंवा की जर तर नाही ने ला चा ची चे च्या मध्ये साठी वर काय कोण कुठे का कसे खूप""",
    "ta": """ஒரு இந்த அந்த மற்றும் என்று என்ற என இது அது நான் நீ அவன் அவள் அவர் நாங்கள் நீங்கள் என் உன் உங்கள் எனது எனக்கு
        உள்ளது இல்லை தான் ஆனால் அல்லது என்ன யார் எங்கே எப்போது ஏன் எப்படி""",
    "he": """של את על עם לא זה זאת זו הוא היא הם הן אני אתה אנחנו אתם כי אם או גם אבל רק יש אין היה הייתה
        היו כל מה מי איפה מתי למה איך שלי שלך שלו שלה שלנו לי לך לו לה לנו להם אל בין אך כן אשר מאוד""",
    "yi": """דער די דאָס דאס און אָדער אבער אָבער אַז אז איך דו ער זי עס מיר איר זיי מיך דיך אים מיין דיין
        זיין איז בין ביסט זענען געווען האָט האב האָב האבן נישט ניט מיט פון פֿון אין אויף צו פאר פֿאַר וואָס וואס
        ווער וואו ווו ווען""",
    "zh": """的 了 是 在 我 你 您 他 她 它 我们 你们 他们 她们 咱们 自己 和 与 跟 及 或 或者 而 但 但是
        不过 也 都 就 还 又 很 太 不 没 没有 吗 呢 吧 啊 呀 哦 嘛 这 那 这个 那个 这些 那些 这里 那里 什么
        怎么 怎样 哪 哪个 哪里 哪儿 谁 多少 几 为什么 何时 什么时候 一个 一些 有 会 要 被 把 给 对 从 到
        于 以 因为 所以 如果 虽然 之 其 等 着 过 得 地 上 里 中 个 們 我們 你們 他們 這 這個 這些 這裡 裡
        裏 還 沒 沒有 嗎 什麼 怎麼 哪裡 誰 幾 為什麼 個 會 對 從 於 因為 雖然 過 與""",
    "ko": """나 내 너 네 저 제 그 이 것 수 거 우리 저희 뭐 무엇 어디 누구 언제 왜 어떻게 은 는 가 을 를 의
        에 도 로 와 과 만 하 있 그리고 그런데 하지만 아주 매우 및 또는""",
}

# Guess only: frequent words of what people say about themselves. Never left out of an index.
COMMON_WORDS: dict[str, str] = {
    "en": """likes loves lives works wants moved prefers owns plays enjoys went user she's after before
        with will""",
    "de": """heiße heisse wohne wohnt lebe lebt mag liebe arbeite arbeitet möchte gerne gern immer jeden
        spielt kauft""",
    "fr": "aime habite habitons travaille préfère voudrais appelle joue vit adore jour toujours",
    "es": "vivo vive gusta gustan trabajo trabaja llamo quiero prefiere juega siempre años hoy",
    "it": "abito abita vivo vive piace lavoro lavora chiamo voglio preferisce gioca sempre anni oggi",
    "pt": "moro mora gosto gosta trabalho trabalha chamo quero prefere joga sempre anos hoje",
    "nl": "woon woont houd houdt werk werkt heet graag altijd speelt vandaag",
    "sv": "bor gillar arbetar jobbar heter alltid idag tycker älskar",
    "da": "bor elsker arbejder hedder altid kan synes",
    "no": "bor liker elsker jobber heter alltid",
    "fi": "asun asuu pidän pitää rakastan työskentelen nimeni aina",
    "hu": "lakom lakik szeretem szeret szeretek dolgozom hívnak mindig",
    "pl": "mieszkam mieszka lubię lubi kocham pracuję pracuje nazywam mam ma zawsze",
    "cs": "bydlím bydlí žiju mám má rád ráda pracuji pracuje jmenuji vždy",
    "sk": "bývam býva žijem mám má rád rada pracujem volám vždy",
    "ro": "locuiesc locuiește trăiesc îmi place plac lucrez numesc mereu",
    "tr": "yaşıyorum yaşıyor seviyorum seviyor çalışıyorum oturuyorum adım istiyorum her zaman",
    "ca": "visc viu agrada agraden treballo treballa dic vull sempre",
    "id": "tinggal suka bekerja nama ingin selalu punya",
    "et": "elan elab armastan töötan nimi alati meeldib",
    "lt": "gyvenu gyvena mėgstu myliu dirbu vardas visada patinka",
    "lv": "dzīvoju dzīvo patīk mīlu strādāju sauc vienmēr",
    "hr": "živim živi volim voli radim zovem uvijek uvek",
    "sl": "živim živi rad rada imam delam pišem vedno všeč",
    "is": "bý býr heiti elska vinn alltaf finnst",
    "vi": "sống thích yêu làm tên muốn người",
    "tl": "nakatira gusto mahal nagtatrabaho pangalan",
    "ru": "живу живёт живет люблю любит работаю работает зовут хочу нравится всегда",
    "uk": "живу живе люблю любить працюю працює звати хочу подобається завжди мешкаю",
    "bg": "живея живее обичам обича работя работи казвам искам харесва винаги",
    "be": "жыву жыве люблю працую завуць хачу падабаецца заўсёды",
    "mk": "живеам живее сакам работам викам",
    "sr": "живим живи волим воли радим зовем увек",
    "fa": "زندگی دوست کار می‌کنم است هستم کنم میکنم کند",
    "mr": "राहतो राहते राहतात आवडते आवडतो नाव करतो",
    "ne": "बस्छु मनपर्छ मन पर्छ काम गर्छु नाम",
}
