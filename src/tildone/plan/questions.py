"""Whether the last message of an agent asks the person something, and the agent waits for the answer.

The end of the message is read sentence by sentence, from the last one back; code, tables and quotations are
left out. The rules, of which the first that applies to a sentence decides:

1. An offer of more help says nothing. What is before it decides.
2. A request for an answer, or a statement that the agent waits for the person, asks.
3. A question about what the agent shall do, or about what the person wants, asks, also if statements follow it. Any
   other question asks only at the very end, or if advice follows it.
4. If the agent answers itself, what is before that is settled.

In doubt is what much text follows, or the announcement of what the agent does next; what others ask or show; questions
for a reason or a fact; offers of a definite next step; and statements that the agent lacks something.
"""

from __future__ import annotations

from tildone.base import TYPE_CHECKING
from tildone.plan.gate import Asks

if TYPE_CHECKING:
    from collections.abc import Iterator

    Phrases = tuple[tuple[str, ...], tuple[tuple[str, str], ...]]

# No regular expressions: compiling them would exceed the time budget of a hook.


def _table(*languages: str) -> Phrases:
    """Return phrases as they occur in the text of `_words`: at the beginning of a word, except where none is spaced.

    A `~` stands for any words between the two parts of a phrase.
    """
    phrases = "|".join(languages).split("|")
    pairs = (phrase.split("~") for phrase in phrases if "~" in phrase)
    return (
        tuple(_spaced(phrase) for phrase in phrases if "~" not in phrase),
        tuple((_spaced(first), _spaced(second)) for first, second in pairs),
    )


def _spaced(phrase: str) -> str:
    return phrase if phrase[0] >= FIRST_UNSPACED else f" {phrase}"


def _clauses(*languages: str) -> tuple[str, ...]:
    """Return phrases as they occur at the beginning of a clause."""
    return tuple(f"{CLAUSE} {phrase}" for phrase in "|".join(languages).split("|"))


FIRST_UNSPACED = "\u2e80"
"""Characters from here on are Chinese, Japanese or Korean."""

QUESTION_MARKS = "?？؟\u037e፧⁇⁈‽"
FULL_STOPS = ".!…。．！"
CJK_STOPS = "。！？"
CLOSING = frozenset("*_)]\"'”’»」』`") | {*FULL_STOPS, *QUESTION_MARKS}
CLAUSES = ",:;—–(，、：；（"
QUESTION_ENDINGS = ("か", "吗", "嗎", "呢", "까", "까요", "나요")
"""Endings of questions in languages that often omit the question mark: Japanese, Chinese and Korean."""

CLAUSE = "/"
"""Stands before each clause in the text of `_words`."""

OFFERS = _table(
    "please note|please see|please keep|please refer|please be aware|please remember|please find|how it looks|"
    "at your disposal|if you notice",
    "bitte beachte|bitte denk|bei fragen|für fragen",
    "veuillez noter|à votre disposition|à ta disposition|toute question",
    "cualquier duda|cualquier pregunta|cualquier cosa|ten en cuenta|a tu disposición|a su disposición",
    "qualquer dúvida|qualquer coisa|qualquer pergunta|a disposizione|qualsiasi domanda|qualsiasi cosa|qualunque",
    "буду рад|рад помочь|обратите внимание",
    "请注意|请放心|请参阅|请参考|请查看",
    "ご注意ください|ご参照ください|ご覧ください|お申し付け|遠慮なく",
    "참고해|참고하시|참고 바|유의",
    "anything else|is there anything|anything you'd like|anything further|anything more|something else|any questions|"
    "any other question|any further q|any further h|any further as|other questions|else you|what else|else i can|"
    "does that help|does this help|feel free|happy to|glad to|hope that helps|hope this helps|you'd like / i can|"
    "you like / i can|you want / i can|to know more|to hear more|run into|"
    "any issues|any changes|any adjustments|how it goes|hesitate to",
    "noch etwas|sonst noch|weitere fragen|noch fragen|du fragen|sie fragen|ihr fragen|fragen hast|fragen haben|"
    "gerne noch|melde dich gern|melden sie sich gern|gerne melden|weiterhelfen",
    "autre chose|d'autres questions|des questions|une question|n'hésite|aider|signe si",
    "algo más|otra cosa|alguna pregunta|alguna duda|tienes dudas|tienes preguntas|dudas~avísame|no dudes|puedo ayudar",
    "algo mais|mais alguma|alguma dúvida|alguma pergunta|tiver dúvidas|à vontade|posso ajudar|não hesite",
    "altro / |di altro|qualcos'altro|altre domande|hai domande|ha domande|dubbi|esitare|posso aiutar",
    "нибудь ещё|нибудь еще|есть вопросы|вопросы~дайте|возникнут вопросы|появятся вопросы|ещё вопросы|чем ещё|"
    "не стесняйтесь|обращайтесь|могу~помочь",
    "还有其他|还有什么|其他问题|其它问题|任何问题|如有问题|若有问题|有什么问题|有疑问|随时|另有需要|其他需要|帮忙的|"
    "帮助的|帮您的|帮你的",
    "他に|ほかに何|ほかにも|不明な点|ご不明|お気軽に|いつでも|質問があれば|ご質問|お手伝い",
    "다른 도움|더 도와|도와드릴|더 필요|궁금|언제든|질문이 있|다른 요청",
    "nog iets|vragen heb|vragen zijn|coś jeszcze|masz pytania|pomóc|başka bir|sorunuz|yardımcı",
)
"""Offers of more help, as a question or not: an agent with tasks left does not wait for the answer."""

ASKS = _table(
    "i'm waiting~your|i am waiting~your|/ waiting~your|in your court|approve or |if you're fine with|"
    "if you're okay with|if you're ok with|if you don't mind|if that's okay with|if that's ok with|"
    "if that's fine with",
    "wenn du einverstanden|wenn sie einverstanden|wenn das für dich|si vous êtes d'accord|si tu es d'accord|"
    "si te parece|se per te va|se você concordar|если вы не против|如果您同意|如果你同意|如果没问题",
    "your confirmation before|need approval|need confirmation|need a decision",
    "i'd rather check|i'd rather ask|than guess|wanted to check with|wanted to confirm|wanted to ask|help to know|"
    "help if you|help me to know|i need to know|i'd like to know|i want to know|i'd need to know|your sign off|"
    "need sign off|explicit ok|explicit approval|explicit go|explicitly say|awaiting go|awaiting confirm|"
    "awaiting approval|awaiting instr|awaiting input|awaiting feedback|whichever you|whatever you prefer|"
    "depending on your|input needed|needs your|needs a human|hear from you|hear back|shout when|i'll need~before|"
    "i'll need~to continue|i'll need~to proceed|i'll need~from you|i'd need~before|i'd need~from you|i'd want~before|"
    "until i have your|until i get your|the go ahead|a go ahead",
    "lieber nachfragen|ich frage lieber|ohne deine|ohne ihre|mir fehlt~um|bräuchte~von|brauche ich~von",
    "sans votre accord|sans ton accord|sans votre validation|sans ta validation|il me manque~pour|il me faut~pour|"
    "besoin de~pour continuer|besoin de~avant",
    "hasta que~confirm|hasta que~digas|hasta tener tu|a la espera de|me falta~para|sin tu aprobación|"
    "sin tu confirmación|in attesa di|mi serve~per|mi servono~per|senza la tua",
    "не хватает~чтобы|мне нужно~чтобы продолжить|мне нужен~чтобы|мне нужна~чтобы|без вашего|без твоего|"
    "на ваше усмотрение",
    "请补充|请指定|您来选|你来选|您来定|你来定|您的意见|你的意见|同意之前|确认之前|批准之前|回复之前|确认前|"
    "我不会~直到",
    "ご連絡ください|ご連絡をお願い|指定してください|いただくまで|ご意見をお聞かせ|お聞かせください|ご希望を",
    "정해 주|정해주|연락 주|의견 부탁|의견을 주",
    "nodig om|potrzebuję~żeby|potrzebuję~aby|ihtiyacım var",
    "please confirm|please choose|please decide|please pick|please select|please advise|please clarify|"
    "please specify|please provide|please give|please send|please share|please paste|please upload|please attach|"
    "please answer|please reply|please respond|please approve|please grant|please add~key|please set~and|"
    "please~and confirm|please~and approve|and paste|and send me|up to you|choice is yours|decision is yours|"
    "your call / |over to you|awaiting your|await your|waiting for you|waiting on you|wait for you|i'll wait~your|"
    "i will wait~your|i need~from you|i need you|we need your|i still need your|need your input|need your decision|"
    "need your approval|need your confirmation|need your help|need your permission|you to decide|you to choose|"
    "you to confirm|i need the~to continue|i need the~to proceed|i need the~before|i need a~to continue|"
    "i need a~to proceed|i need access|once i have your|once i get your|i'd like your|i'd like you to|i want your|"
    "i would like your|i want to confirm|i'd like to confirm|check with you|your go ahead|your green light|"
    "without your approval|without your confirmation|without your input|without your permission|ready for your|"
    "thumbs up|standing by for|requires your|pending your|depends on your",
    "bitte bestätig|bitte wähl|bitte entscheid|bitte gib|bitte geben sie|bitte schick|bitte sag|bitte antwort|"
    "bitte nenn|bitte teil|bitte~freigabe|bitte~mitteilen|bitte um~bestätigung|bitte um~entscheidung|"
    "bitte um~rückmeldung|und schick|deine entscheidung / |ihre entscheidung / |liegt bei dir|liegt bei ihnen|"
    "warte~auf dein|warte~auf ihr|brauche~von dir|brauche~von ihnen|brauche~dein|brauche~ihre|benötige~ihre|"
    "benötige~dein|benötige~von|bevor ich~brauche|bevor ich~benötige",
    "veuillez confirmer|veuillez choisir|veuillez préciser|veuillez fournir|veuillez indiquer|veuillez valider|"
    "veuillez répondre|merci de confirmer|merci de préciser|merci de choisir|merci de me|merci de valider|"
    "merci de répondre|merci d'indiquer|j'attends v|j'attends ta|j'attends ton|attente de v|attente de ta|"
    "attente de ton|attends~accord|attends~réponse|besoin de votre|besoin de ta|besoin que vous|besoin que tu|"
    "à vous de|à toi de",
    "por favor confirm|por favor elige|por favor elija|por favor indica|por favor indíca|por favor dime|"
    "por favor proporcion|por favor envía|confirma por favor|espero tu|espero su|espera de tu|espera de su|"
    "espera de que|esperando tu|esperando su|necesito tu|necesito su|necesito que|necesito~para continuar|"
    "necesito~antes de|tú decides|usted decide|decisión es tuya",
    "por favor escolh|por favor inform|por favor forne|por favor me|por favor envie|por favor respond|aguardo|"
    "aguardando~sua|aguardando~seu|preciso da sua|preciso do seu|preciso que|preciso~para continuar|você decide|"
    "decisão é sua",
    "per favore conferm|per favore scegli|per favore indica|per favore dimmi|per favore forn|per favore rispondi|"
    "attendo~tu|attendo~su|aspetto~tu|aspetto~su|attesa~tu|attesa~su|ho bisogno che|ho bisogno~per continuare|"
    "ho bisogno~per procedere|ho bisogno della tua|decidi tu|sta a te",
    "подтвердите|подтверди |пожалуйста выбер|пожалуйста укаж|пожалуйста предостав|пожалуйста пришл|пожалуйста ответ|"
    "пожалуйста уточн|пожалуйста сообщ|пожалуйста скаж|жду ваш|жду тво|жду от вас|жду ответ|ожидаю ваш|ожидаю тво|"
    "выбор за вами|выбор за тобой|решать вам|решать тебе|решение за вами|нужно ваше|нужен ваш|нужна ваша|"
    "мне нужно от вас",
    "请确认|请选择|请决定|请告诉|请提供|请回复|请告知|请回答|请指示|请批准|请明确|请说明|请给|请发|请把|请您确认|请你确认|"
    "请您选择|请你选择|请您提供|请你提供|告诉我|告知我|等待你|等待您|等你|等您|由你决定|由您决定|需要你确认|"
    "需要您确认|需要你提供|需要您提供|需要你决定|需要您决定|你来决定|您来决定|你的确认|您的确认|你的指示|您的指示",
    "教えてください|教えて下さい|お教えください|確認をお願い|お知らせください|ご指示|選んでください|お選びください|"
    "選択してください|お答えください|答えてください|ご回答|ご返信|ご提供|提供してください|お待ちして|お待ちします|"
    "判断をお願い|入力してください|決めてください|お決めください|共有してください|返信してください|"
    "貼り付けてください|承認をお願い|ご承認|ご判断",
    "알려주세요|알려 주세요|알려주시|알려 주시|확인 부탁|선택해 주|선택해주|답해 주|답해주|답변을 기다|답변 부탁|"
    "답변해 주|답변해주|말씀해 주|말씀해주|제공해 주|제공해주|기다리겠습니다|기다리고 있겠|골라 주|골라주|승인해 주|"
    "승인해주|공유해 주|공유해주|입력해 주|입력해주|붙여 넣어|지시해 주|회신",
    "antwoord met|bevestig|kies |geef me|wacht op je|wacht op uw|odpowiedz|potwierdź|wybierz|podaj |czekam na tw|"
    "lütfen onayla|onayını|bekliyorum|söyle",
)
"""Requests for an answer, and statements that the agent waits for the person."""

COMMANDS = _clauses(
    "say done|fill me in|approve |enlighten me",
    "provide |ping me|drop me|point me|hand me|give me a shout|say when|grant me|unlock |enter your|paste the|"
    "paste your|decide ",
    "reply |respond with|answer with|answer yes|answer a |answer the|give me the|give me your|give me access|"
    "give me a go|give it to me|send me|share the|pick one|pick a number|pick an option|choose one / |"
    "choose an option / |choose between|choose a or|say go|say yes|type yes|type y |type go|type the number|confirm |"
    "y n |yes no |yes or no|enter a number|enter the number|your call|your choice / |your decision / |your turn",
    "antworte |antworten sie|wähl|bestätig|ja nein |ja oder nein|gib mir d|geben sie mir d|nenn mir|nennen sie mir|"
    "schreib einfach|schreiben sie einfach|entscheide du|schick mir|schicken sie mir|deine wahl",
    "réponds|répondez|choisis|confirme |confirmez|oui ou non|donnez moi|donne moi|envoyez moi|envoie moi|précise|"
    "indiquez moi",
    "responde|responda|elige|elija|confirma |sí o no|dame |deme |envíame|indícame|indíqueme|escolha|sim ou não|"
    "me envie|me passe|rispondi|scegli|conferma |sì o no|dammi |indicami|inviami",
    "ответь|выбери|да или нет|напишите|напиши |пришлите|пришли |укажите|уточните|решайте",
    "回复|选择一个|あなたの選択|ja of nee|tak lub nie|evet veya",
)
"""What is a request only at the beginning of a clause."""

TELL = _table(
    "let me know|lmk |/ tell me|please tell me|and tell me|or tell me|you tell me|can tell me",
    "bescheid|sag mir|sagen sie mir|lass mich wissen|lassen sie mich wissen|teil mir mit|teilen sie mir|melde dich|"
    "melden sie sich",
    "dites moi|dis moi|faites moi|fais moi s|prévenez|préviens|tenez moi",
    "avísame|avíseme|avisame|hazme saber|hágame saber|háganme saber|dime |dígame|decirme|házmelo",
    "me avise|me avisa|avise me|me diga|diga me|me fala|me fale|me informe|me conte",
    "fammi sapere|mi faccia sapere|fatemi sapere|dimmi|mi dica|avvisami|avvertimi",
    "дайте знать|дай знать|скажите|сообщите|скажи |сообщи |дайте мне знать|напишите мне",
    "laat het me weten|laat me weten|laat maar weten|zeg me|daj znać|daj mi znać|powiedz|haber ver|bana bildir",
)
"""Requests to be told something. What is to be told decides whether they ask, or offer more help."""

TOLD_ASKS = _table(
    "you'd prefer|you prefer|you'd rather|you'd like that|you want that",
    "how to |how i |how we |how should|how best",
    "which|whether|if i |if we |if it's ok|if that's ok|if this is ok|if that's fine|if it's fine|if you approve|"
    "if you agree|to continue|to go on|how you|when |where |who |once |what you'd|what you want|what you decide|"
    "what to|what the|what is|what's|what should|your decision|your preference|your choice|your answer|go ahead|"
    "proceed|the word|that works|to start",
    "ob |welche|was du mö|was sie mö|was du will|was du bevor|wie du|wie sie|wie ich|wie es|wann |wo |wenn ich|"
    "falls ich|sobald|wenn es|wenn das|fertig|weitermachen|fortfahren|loslegen|was ich",
    "si je |si nous|si vous voulez que|si vous souhaitez que|si tu veux que|quel|laquelle|lequel|comment|où |quand |"
    "lorsque|une fois|continuer|dès que|ce que vous|ce que je|d'accord",
    "si debo|si quieres que|si quiere que|si puedo|si procedo|si sigo|si continúo|si está|cuál|qué |cómo|dónde|"
    "cuándo|cuando|continúe|en cuanto|para continuar",
    "se devo|se posso|se quer que|se você quer|qual |quais|como |onde |quando|assim que|o que|se está",
    "se procedo|se vuoi che|se va bene|quale|quali|come |dove |appena|cosa |che cosa",
    "как |какой|какую|какие|какая|каком|стоит|нужно ли|следует|можно ли|что |продолжать|ли мне|куда |когда |если мне|"
    "если можно|где |хотите ли",
    "of ik |welke|hoe |wanneer|als ik|als je klaar|wat ik|czy |który|którą|którego|jak |gdy |kiedy |co mam|hangi|nasıl",
)
TOLD_OFFERS = _table(
    "how it|how this|how that|how everything|how these",
    "question|anything|something|issue|problem|change|adjust|tweak|feedback|help|if you need|concern|unclear|notice|"
    "looks off",
    "frage|etwas|hilfe|nicht passt|brauchst|brauchen|änderung|anpass|unklar",
    "besoin|problème|souci|aide|quelque chose",
    "duda|pregunta|algo|ayuda|cambio|ajuste|necesita|dúvida|pergunta|ajuda|mudança|alteração|precisar",
    "domand|dubb|qualcosa|aiuto|bisogno|modific",
    "вопрос|помощь|что то|проблем|нужно что|изменени|доработ",
    "vragen|hulp|pytania|pytań|pomoc|soru",
)

PROPOSALS = _table(
    "do we need|do we want|do we have|get that right|got that right|is it right|is this right|did i understand|"
    "have i understood|understand correctly",
    "habe ich das richtig|verstehe ich das|ai je bien compris|he entendido bien|entendi corret|ho capito bene|"
    "как поступить|как быть|как действовать|правильно ли я|правильно понимаю",
    "理解正确|我理解|理解对|合ってい|정확한가|이해한 것이 맞",
    "does that match|is this what|okay / |ok / |correct / |agreed / |deal / ",
    "want me to|you want|you'd like|you like me|should i|should we|shall i|shall we|may i |can i |could i |do i need|"
    "do i have|am i |are you|ok to|okay to|ok if|okay if|fine if|alright|ok for me|okay for me|you prefer|you rather|"
    "can you|could you|would you|will you|have you|you agree|you mean|do you have|do you need|do you know|proceed|"
    "go ahead|mind if|okay with|ok with|is that correct|is that right|is that ok|is that fine|does that work|"
    "does this work|does that sound|does this look|sound good|to you / ",
    "soll|darf ich|dürfen wir|kann ich|möchtest|möchten|willst|wollen sie|bevorzugst|bevorzugen|lieber|kannst du|"
    "können sie|könntest|könnten sie|hättest|hätten sie|hast du|haben sie|bist du|sind sie|ist es ok|in ordnung|"
    "passt das|passt dir|einverstanden|meinst du|meinen sie|ihnen |dir |darf es",
    "voulez vous|veux tu|veuillez|voudrais|voudriez|souhaite|dois je|devons nous|puis je|préfère|préférez|"
    "pouvez vous|peux tu|pourriez|pourrais|est ce que je|faut il|vous convient|te convient|d'accord|avez vous|as tu|"
    "êtes vous|parlez vous|ça vous|ça te|on continue|je continue|je procède|je lance|vaut il mieux",
    "quieres|quiere |quieren|prefiere|debo |debería|procedo|puedo|podemos|puedes|puede |podría|te parece|le parece|"
    "está bien|te refieres|se refiere|continúo|continuamos|sigo |deseas|desea |tienes|tiene |de acuerdo|gustaría|"
    "te sirve",
    "quer |queres|querem|você|devo |devemos|posso|prefere|deseja|gostaria|pode |poderia|prossigo|prosseguir|tudo bem|"
    "de acordo|continuo ",
    "vuoi |vuole |preferisci|preferisce|dobbiamo|proseguo|puoi |può |potresti|potrebbe|desideri|va bene|ti va|"
    "vorresti|hai |intendi",
    "хотите|хочешь|вы |вас |вам |ты |тебе|мне |стоит|можно |нужно ли|следует|предпочита|можете|можешь|удалить|"
    "продолжить|продолжать|устроит|согласны|подойдёт|подойдет|у вас|начинать|приступать",
    "你|您|要不要|是否|要我|可以吗|行吗|好吗|我该|应该|能否|可否|请问|还是|对吗|继续吗",
    "よろしい|よい|良い|いいで|しましょうか|ますか|ませんか|希望|いかが|もらえ|いただけ|いただき|好み|べき|大丈夫|"
    "構いません",
    "할까요|될까요|드릴까요|원하|시겠|주실|괜찮|해도|하나요|좋을까|선호|을까요|맞나요|맞습니까|진행",
    "wil je|wilt u|zal ik|mag ik|moet ik|kan ik|kun je|kunt u|heb je|czy mam|czy mogę|chcesz|chciał|wolisz|możesz|"
    "ister mi|tercih eder|miyim|mıyım|muyum|misin|mısın",
)
"""What a question is about that asks for permission, a wish, a fact or an act of the person."""

CHOICES = _table(
    "or |what's it going|what will it be|what's your|what would you",
    "oder |ou |o |или |還是|それとも|아니면|of |albo |czy |mı",
    "which|should|your |where |is it ok|welche|was soll|dein|quel|laquelle|lequel|qué |cuál|qual |quais|quale|quali|"
    "какой|какую|какая|какие|какое|ли |哪个|哪一|哪种|哪些|哪里|哪儿|どちら|どの|どれ|どこ|어느|어떤|어디|welke|"
    "który|której|którą|hangi",
)
"""What a question is about that may ask for a choice, or lead to an explanation."""

ADVICE = _table(
    "i recommend|i'd recommend|i would recommend|i suggest|i'd suggest|my recommendation|my suggestion|i lean|"
    "i'd lean|i'd go with|i'd go for|i prefer|i'd prefer|my preference|i'd pick|i'd choose|recommended",
    "ich empfehle|ich würde|meine empfehlung|mein vorschlag|ich tendiere|je recommande|je conseille|je suggère|"
    "ma recommandation|je préconise|je pencherais|recomiendo|mi recomendación|sugiero|yo usaría|recomendo|"
    "minha recomendação|sugiro|eu usaria|consiglio|suggerisco|raccomando|рекомендую|советую|я бы |предлагаю",
    "建议|推荐|おすすめ|お勧め|推奨|추천|권장|권합니다|ik raad|mijn advies|polecam|sugeruję|öneririm",
)

GOES_ON = _clauses(
    "i'll |i will |i'm going to|i am going to|let me |let's |now i|next i|next / i|checking|running|working on|"
    "starting|looking|trying|continuing|moving on|proceeding|meanwhile|in the meantime|for now / |for now i",
    "ich werde|als nächstes|ich mache|ich gehe|ich schreibe|ich nehme|ich fahre|ich prüfe|jetzt |nun |weiter geht|"
    "inzwischen|in der zwischenzeit",
    "je vais|je continue|je passe|je pars|je commence|en attendant|maintenant je|passons",
    "voy a|ahora |continuaré|seguiré|continúo|sigo con|empiezo|mientras tanto|vou |agora |enquanto isso|vado |"
    "adesso |ora |procedo|intanto",
    "теперь|сейчас|далее|перехожу|пока что|тем временем|продолжаю|начинаю",
    "接下来|我会|我将|下一步|现在|我先|继续|次に|これから|続いて|進めます|이제|다음으로|계속해서|우선",
    "nu |ik ga |teraz |şimdi ",
)
"""At the beginning of a clause: the agent goes on with its work."""

SETTLES = _clauses(
    "i went with|i chose|i picked|i decided|i've decided|i assumed|i'm assuming|i've assumed|i'll assume|i'm using|"
    "yes / |no / |nope|answer / |turns out|it is / |it isn't",
    "ich habe mich für|ich gehe davon|ich gehe vorerst|ich nehme an|ja / |nein / |j'ai choisi|je suppose|oui / |"
    "non / |elegí|he elegido|asumo|asumiré|sí / |escolhi|assumi|sim / |não / |ho scelto|suppongo|sì / |я выбрал|"
    "да / |нет / ",
    "我选择了|是的|不会|因为|はい|いいえ|네 / |아니요 / ",
)
"""At the beginning of a clause: the agent answers itself, and what is before is settled."""

CONDITIONS = _table(
    "if you're happy|if that's fine|if that's ok|bis du|solange du",
    "до тех пор|在您|在你|まで",
    "once you|after you|as soon as you|when you've|when you're|when you give|when you say|the moment you|until you|"
    "unless you|if that matches|if that looks|if this looks|if that sounds|if this sounds|if that works|"
    "if this works|if you approve|if you agree|if you confirm|if you're ok|sobald du|sobald sie|wenn du mir|"
    "wenn sie mir|bis sie|dès que vous|dès que tu|une fois que vous|une fois que tu|en cuanto|cuando me|hasta que me|"
    "assim que|quando você|quando me|appena|как только|когда вы|пока вы|确认后|いただき次第|いただけれ|いただいた|"
    "주시면",
)
FIRST_PERSON = _table(
    "i'll|i will|i won't|i can|i've stopped|i've paused|holding|we can|ich |je |j'|puedo|procedo|sigo|empiezo|"
    "continúo|posso|vou |vado |continuo|proseguirò|я |我|再|ます|겠습니다",
)
"""Together, they mean that the agent goes on when the person has done something."""

REASONS = _clauses(
    "what more|what could|maybe|perhaps|what a |how cool|how nice|is it just",
    "vielleicht|peut être|quizá|será |talvez|forse|может |难道|也许|もしかし|belki|misschien|może ",
    "why |how come|what changed|what's next|what's left|what next|what's new|so what|what about|what does|what is |"
    "how does|how do i |how can i |how it|could it|what if|what happened|what did|hmm|interesting|right / |huh",
    "warum|wieso|weshalb|was ist neu|was fehlt|wie geht es weiter|pourquoi|por qué|por que|perché|come mai|почему|"
    "зачем|что дальше|что изменилось|为什么|为何|怎么回事|原因是|なぜ|どうして|왜 |waarom|dlaczego|neden",
)
"""With what questions begin that agents ask themselves, or that are headings."""

REPORTS = _clauses(
    "i checked|i've checked|i tested|i verified|i looked|i fixed|i added|i wondered|i asked|ich habe|j'ai |"
    "he comprobado|ho verificato|я проверил|我检查|我确认|我验证",
)
"""With what a report begins, whatever it ends with."""

REPORTERS = _table(
    "asks|asked|prints|printed|shows|displays|outputs|fragt|zeigt|demande si|affiche|pregunta si|muestra|pergunta|"
    "mostra|chiede|спрашивает|показывает|显示|询问|表示|尋ね|묻는|표시",
)
"""Verbs of those who ask or show something in place of the agent."""

EXTRAS = _table(
    "also|as well|while i'm at it|additional|auch noch|zusätzlich|außerdem|aussi|également|también|además|também|"
    "além|anche|inoltre|также|заодно|顺便|另外|ついでに|추가로|ook nog|również|ayrıca",
)
"""What tells that a proposal is beyond the plan."""

SELF = _clauses(
    "what|how|and if|and what|windows|was |wie |et |comment|qu'|y |cómo|como|e |o que|come|cosa|а |как|что|那|怎么|"
    "什么|难道|どう|何|어떻게|무엇",
)
"""With what questions begin that an agent answers itself, if statements follow."""

FACTS = _clauses(
    "is |are |was |were |does|do |did|has |have |had |or is|can it|could|would|will|who|when|where|ist |sind |gibt|"
    "hat |wer |est |es |è |где|кто",
)
"""With what questions about facts begin, which may be meant for the person."""

PLEAS = _clauses(
    "please |bitte |veuillez|merci de|por favor|per favore|пожалуйста|请|graag |proszę|lütfen",
)
"""With what a clause begins that may be a request, or advice."""

ANSWERS = _table(
    "confirm|approv|decid|answer|repl|respond|tell|told|choos|chos|pick|let me know|give|gave|provid|share|send|sent|"
    "say|said|agree|ok |okay|sign|clarif|paste|grant|added|matches|looks|sounds|works|happy|fine|done|ready|log|"
    "unlock",
    "bestätig|zustimm|zugestimmt|entscheid|entschieden|antwort|sag|gib|gegeben|schick|fertig|répon|valid|décid|"
    "choisi|dit |donn|termin|elig|elij|dig|escolh|rispond|sceg|scelto|подтвер|ответ|реш|скаж|выбер",
    "确认|同意|回复|决定|批准|告|提供|授权|承認|確認|返|教|許可|승인|확인|답|결정|알려|허락",
)
"""What a person does that an agent waits for."""

OPENINGS = _clauses(
    "would you like|do you want me to|do you want to|should i |shall i|which of these|which one|möchtest du|soll ich|"
    "sollen wir|willst du|voulez vous|souhaitez vous|dois je|quieres que|quer que|vuoi che|хотите",
)
"""With what a sentence begins that is a question also without a question mark, such as before a list."""

IFS = _clauses(
    "if |wenn |falls |si |se |если |如果",
)
"""With what a sentence begins that tells what the answer leads to."""

DOUBTS = _table(
    "without access|as far as i can get|i can't~until|i cannot~until|until i know|i don't have access|"
    "i have no access|i'm not able to|the only thing missing|except the",
    "ohne zugriff|weiter komme ich|keinen zugriff|sans accès|pas accès|sin acceso|sem acesso|senza accesso|"
    "нет доступа|没有权限|没有访问|権限がない|権限がありません|권한이 없",
    "i need at least",
    "i need an|i need some|i need either|i need one|i need more|i'll need a|i'll need the|i'll need some|i'm missing|"
    "i am missing|i'd want|i'll wait|i'll hold|i'll pause|i'll stand by|i'm holding|holding here|holding off|"
    "paused here|pausing here|until then|awaiting|blocked on|decision needed|decision required|action needed|"
    "action required|not sure which|not sure whether to|not sure if you|i'm unsure|it's unclear|is ambiguous|"
    "could mean|your preference|waiting on|your input|either way works|both work|works for me|leaning towards|"
    "and i'll |and i can |then i'll |once~i'll |i'll~once|as soon as~i'll |i'll~as soon as|when you're ready",
    "mir fehlt|bräuchte|ich benötige|bin mir nicht sicher|bis dahin|ich warte|unklar",
    "il me manque|il me faut|en attente|je ne suis pas sûr|j'attends",
    "me falta|me hace falta|no estoy seguro|a la espera|espero |falta o |falta a |faltam|não tenho certeza|aguardo|"
    "mi serve|mi servono|mi manca|non sono sicuro|in attesa",
    "не хватает|жду |ожидаю|не уверен|требуется ваш",
    "还缺|缺少|不确定|等待|暂停",
    "必要です|お待ち|お願いします|ください|わかりません|不明です",
    "필요합니다|주세요|바랍니다|부탁드|기다",
    "nodig|potrzebuję|czekam|gerekiyor",
    "i can't continue|i cannot continue|i can't proceed|i cannot proceed|i can't go on|i cannot go on|"
    "unable to continue|unable to proceed|i'm blocked|i am blocked|i'm stuck|i need a |i need the|i'd need|"
    "ready when you|whenever you're ready|please review|please check|please run|please log in|please restart|"
    "please reconnect|say the word|if you want me|if you'd like me|like me to|want me to|on hold|needs a decision|"
    "your thoughts|your feedback / ",
    "nicht weitermachen|komme~nicht weiter|kann~nicht weiter|nicht fortfahren|bevor ich|brauche ich|ich brauche|"
    "bitte prüf|bitte start|peux pas continuer|impossible de continuer|besoin de|avant de continuer|avant que je",
    "no puedo continuar|no puedo seguir|necesito|não posso continuar|não consigo continuar|preciso |non posso andare|"
    "non posso procedere|non posso continuare|ho bisogno|не могу продолжить|не могу продолжать|мне нужен|мне нужна|"
    "мне нужно|прежде чем",
    "无法继续|不能继续|需要你|需要您|需要先|才能继续|進めません|続けられません|진행할 수 없",
)
"""Statements that may mean that the agent waits for the person."""

POLITE = ("please", "por favor", "per favore", "пожалуйста", "s'il vous plaît", "bitte", "请")
"""Words after which a clause goes on behind a comma."""

LINKS = ("and", "or", "then", "just", "simply", "but", "also", "und", "oder", "dann", "et", "ou", "и", "или")
"""Words at the beginning of a clause that tell nothing."""

BULLETS = frozenset("-*+•")
SKIPPED = ("|", ">")
"""With what tables and quotations begin."""

FENCES = ("```", "~~~")
QUOTES = {'"': '"', "“": "”", "„": "“", "«": "»", "‘": "’", "'": "'", "「": "」", "『": "』", "`": "`"}
MAX_ITEM_LABEL_LENGTH = 5
MAX_LINES = 40
MAX_READ, MAX_QUOTED, NEAR, FAR = 8000, 30, 400, 1200
"""In characters: how much of a message is read; which quotations are short; and how many characters of statements may
follow what asks, and what leaves in doubt."""


def asks_person(message: str) -> Asks:
    """Return whether the message asks the person something, so that the agent waits for the answer."""
    found, after, is_advised, has_list, goes_on = Asks.NO, 0, False, False, False
    for sentence, is_item in _sentences(message):
        text = _words(sentence)
        if _has(text, OFFERS):
            continue
        is_question = _is_question(sentence, text)
        told = _told(text, is_item=is_item)
        if is_question and told is not Asks.YES:
            told = _questioned(text, after, is_advised=is_advised, has_list=has_list)
        if told is Asks.YES:
            is_sure = after <= NEAR and not goes_on and not _has(text, REPORTERS)
            return Asks.YES if is_sure else Asks.DOUBT
        if found is Asks.NO and not goes_on:
            found = told
        after += 0 if is_item else len(sentence)
        if after > FAR or (not is_question and _has_any(text, SETTLES)):
            break
        goes_on = goes_on or (told is Asks.NO and not is_question and _goes_on(text))
        is_advised, has_list = is_advised or _has(text, ADVICE), has_list or is_item
    return found


def _told(text: str, *, is_item: bool) -> Asks:
    """Whether the sentence asks by its words, question or not."""
    if _has(text, ASKS):
        return Asks.YES
    if _has(text, CONDITIONS) and _has(text, FIRST_PERSON):
        return Asks.YES if _has(text, ANSWERS) else Asks.DOUBT
    if _has(text, TELL):
        if _has(text, TOLD_ASKS):
            return Asks.YES
        return Asks.NO if _has(text, TOLD_OFFERS) else Asks.DOUBT
    if not is_item and _has_any(text, COMMANDS):
        return Asks.YES
    return Asks.DOUBT if _has(text, DOUBTS) or _has_any(text, PLEAS) else Asks.NO


def _questioned(text: str, after: int, *, is_advised: bool, has_list: bool) -> Asks:
    """Whether a question asks that `after` characters of statements follow, or a list."""
    if _begins(text, REPORTS):
        return Asks.NO
    if _has_any(text, REASONS):
        return Asks.NO if after or has_list else Asks.DOUBT
    if _has(text, PROPOSALS) or is_advised:
        return Asks.DOUBT if _has(text, EXTRAS) else Asks.YES
    if _has(text, CHOICES):
        return Asks.DOUBT if after else Asks.YES
    if _begins(text, SELF):
        return Asks.NO if after or has_list else Asks.DOUBT
    return Asks.DOUBT if after or has_list or _begins(text, FACTS) else Asks.YES


def _goes_on(text: str) -> bool:
    return _has_any(text, GOES_ON) and not _begins(text, IFS) and not _has(text, TELL)


def _has(text: str, phrases: Phrases) -> bool:
    alone, pairs = phrases
    return _has_any(text, alone) or any(second in text.partition(first)[2] for first, second in pairs)


def _has_any(text: str, phrases: tuple[str, ...]) -> bool:
    return any(map(text.__contains__, phrases))


def _begins(text: str, phrases: tuple[str, ...]) -> bool:
    """Whether the first clause of the text begins with one of the phrases."""
    return text.startswith(phrases, 1)


def _sentences(message: str) -> Iterator[tuple[str, bool]]:
    """The sentences from the last one back, and whether each is in an item of a list."""
    for line in reversed(_prose(message)[-MAX_LINES:]):
        label, _, rest = line.partition(" ")
        is_item = _is_label(label) and bool(rest)
        yield from ((sentence, is_item) for sentence in reversed(_split(_unquoted(rest if is_item else line))))


def _prose(message: str) -> list[str]:
    """The lines at the end that are neither empty, code, tables nor quotations."""
    tail = message[-MAX_READ:]
    fence = FENCES[0] if message.count(FENCES[0], 0, len(message) - len(tail)) % 2 else ""
    lines = []
    for whole in tail.splitlines():
        line = whole.strip()
        start = line[:3]
        if fence:
            fence = "" if start == fence else fence
        elif start in FENCES:
            fence = start
        elif line and not line.startswith(SKIPPED):
            lines.append(line)
    return lines


def _is_label(label: str) -> bool:
    if len(label) > MAX_ITEM_LABEL_LENGTH:
        return False
    name = label.strip("().")
    return label in BULLETS or (label.endswith((".", ")")) and (name.isdecimal() or len(name) == 1))


def _unquoted(line: str) -> str:
    """The line without quotations that are long or have a question."""
    parts, begin, index = [], 0, 0
    while index < len(line):
        is_apostrophe = line[index] == "'" and line[max(index - 1, 0)].isalnum()
        close = "" if is_apostrophe else QUOTES.get(line[index], "")
        end = line.find(close, index + 1) if close else -1
        if end > index:
            quoted = line[index:end]
            if len(quoted) > MAX_QUOTED or any(mark in quoted for mark in QUESTION_MARKS):
                parts.append(line[begin:index])
                begin = end + 1
            index = end
        index += 1
    return "".join([*parts, line[begin:]])


def _split(line: str) -> list[str]:
    """The sentences in the line that contain a letter or a digit."""
    sentences, begin = [], 0
    for index, char in enumerate(line):
        is_unspaced = char in CJK_STOPS or (char in "?!" and index > 0 and line[index - 1] >= FIRST_UNSPACED)
        ends = is_unspaced or (char in FULL_STOPS + QUESTION_MARKS and _is_end(line, index + 1))
        if ends or index == len(line) - 1:
            sentences.append(line[begin : index + 1])
            begin = index + 1
    return [sentence for sentence in sentences if any(char.isalnum() for char in sentence)]


def _is_end(line: str, index: int) -> bool:
    """Whether only closing marks stand between here and a space, or the end of the line."""
    while index < len(line) and line[index] in CLOSING:
        index += 1
    return index == len(line) or line[index].isspace()


def _is_question(sentence: str, text: str) -> bool:
    """Whether it begins or ends as a question, apart from quotation marks, brackets and emoji at the end."""
    if _begins(text, OPENINGS):
        return True
    size = len(sentence)
    while not (sentence[size - 1].isalnum() or sentence[size - 1] in QUESTION_MARKS + FULL_STOPS):
        size -= 1
    end = sentence[:size].rstrip(FULL_STOPS)
    return end.endswith((*QUESTION_MARKS, *QUESTION_ENDINGS))


def _words(sentence: str) -> str:
    """The words in lower case, each after one space, with a mark at the beginning of each clause and at the end."""
    text = "".join(_plain(char) for char in sentence.casefold().replace("’", "'"))
    text = f" {CLAUSE} {' '.join(text.split())} {CLAUSE} "
    for word in POLITE:
        text = text.replace(f" {word} {CLAUSE} ", f" {word} ")
    for word in LINKS:
        text = text.replace(f" {CLAUSE} {word} ", f" {CLAUSE} ")
    return text


def _plain(char: str) -> str:
    if char.isalnum() or char == "'":
        return char
    return f" {CLAUSE} " if char in CLAUSES else " "
