"""Words that address the reader or ask for something, in many languages, and patterns for scripts without spaces."""

from __future__ import annotations

SPEAKS_TO = (
    "you your yours yourself yourselves u ur youre youll youve we our ours us ourselves weve lets please pls kindly hello hey "
    "immediately now today asap beware congratulations me my mine myself ive sie ihr du dich dir "
    "dein deine deinen deinem deiner deines euch euer eure euren eurem bitte hallo dringend sofort jetzt umgehend "
    "ich mich mir mein meine meinen meinem meiner uns unser unsere unseren unserem unserer wir vous votre vos tu toi veuillez svp "
    "usted ustedes tuyo vosotros vuestro voi vostro vostra tuo prego voce voces jij jou jouw uw alstublieft snalla venligst "
    "prosze siz senin sizin lutfen kamu tolong silakan вы вам вас ваш ваша ваше ваши ты тебе тебя твой пожалуйста срочно"
)
ASKING = (
    "accept act agree answer apply approve ask avoid bring buy call cancel claim click come complain confirm connect contact "
    "continue copy deposit dial disable do donate download email enable enter execute fax fill follow forget forward get give go "
    "grab hand hang help hit hold hurry ignore inform insert install invest join keep leave let listen log login mail make message "
    "move notify open order paste pay phone press print prove provide push receive redeem refresh register remember reply report "
    "request reset respond return ring run save say scan select send share show sign skip speak start stay stop submit subscribe "
    "swipe switch take talk tap tell text think transfer trust try turn type unlock update upgrade upload use verify visit vote wait "
    "watch whatsapp win wire write"
)
"""English imperatives that ask for something at the beginning of a part of a line. Verbs of mere work ("compare", "check") do not."""
ALSO_NOUNS = (
    "answer copy report message email mail text contact move print order request reset share start stop talk trust turn type use "
    "visit vote watch wire return switch transfer register phone paste help hit hold log run scan search send sign show supply "
    "update upgrade call click claim leave form fill complete press push hand act give keep open read save say think try record "
    "reply wait"
)
"""After "and" these are more often nouns than verbs: "questions and answers"."""
CALLING = "urgent urgently attention warning achtung warnung atencion attenzione atencao"
"""Words that call on the reader at the beginning of a part of a line: "Warning: the account is locked"."""
PLEADING = ("por favor", "per favore", "se faz favor")
DOING = (
    "click dial hotline helpline callback klick klicke klicken klickt anrufen anruf rufe ruf offne offnen sende senden schick "
    "schicke schicken antworte antworten gib bestatige uberweise uberweisen zahle bezahle melde anmelden einloggen gehe geh besuche "
    "tippe drucke wahle scanne unterschreibe ignoriere ignorieren kontaktiere kontaktieren kaufe bestelle eingeben verrate warte "
    "kundige cliquez cliquer clique appelez appeler envoyez envoyer repondez ouvrez telechargez payez contactez clic pulsa haga "
    "llame llama llamar envie envia enviar responda responde abra abre descargue pague contacte clicca cliccare chiama chiamare "
    "invia inviare rispondi apri scarica paga contatta ligue klik klikken bel bellen stuur sturen betaal klicka ringa skicka kliknij "
    "zadzwon wyslij tikla ara gonder hubungi kirim нажмите позвоните отправьте ответьте откройте перейдите оплатите свяжитесь нажми "
    "позвони отправь"
)
"""Verbs for actions that are not work on an answer, anywhere in a line."""
CHINESE = (
    "[你您妳咱寄]|(?<![申邀])[请請](?![求假]|第三方|专业|專業)|(?<!自)我|点击|點擊|点开|拨打|撥打|致电|致電|电话|電話|打开"
    "|打開|回复|回覆|发送|發送|"
    "发给|联系(?!了|起|实|生)|聯繫(?!了|起|實|生)|填写|填寫|登录|登入|登錄|注册|扫码|掃碼|转账|轉帳|汇款|付款|支付|购买|訂閱"
    "|订阅|转发|转给|告诉|告訴|立即|马上|"
    "馬上|务必|赶快|小心|别忘|不要|热线|熱線|客服|网址|網址|链接|連結|二维码|微信"
)
KOREAN = (
    "당신|여러분|고객님|귀하|회원님|너의|네가|(?<![가-힣])(?:너는|우리|저희|저는|제가|(?<![이가] )나는|내가)|세요|셔요|십시오"
    "|하라(?![가-힣])|"
    "해라|해줘|해 ?주|주시|바랍니다|하자(?![가-힣])|합시다|까요|클릭|전화|누르|눌러|열어|보내|송금|이체|답장|회신"
    "|(?<![가-힣])문의|연락|입력해|"
    "로그인|접속|결제|구매(?=하[세시려]|해)|구독|가입(?! ?(?:조건|기간|절차|방법|여부|요건|자격|금액|비용))|링크|즉시|당장"
    "|지금|반드시|조심|주의하|콜센터|핫라인|카톡"
)
JAPANESE = "ください|下さい|なさい|しろ|せよ|あなた|お客様|クリック|電話|送信|返信|連絡|開いて|押して|登録|今すぐ|ましょう"
OTHER_SCRIPTS = "اتصل|انقر|أرسل|اضغط|تماس|کلیک|بفرست|حضرتك|שלח|לחץ|התקשר|क्लिक|कॉल|भेज|आप|คลิก|โทร|ส่ง|กรุณา"
