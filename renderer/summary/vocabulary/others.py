"""A few plain words of other languages, without endings. More lines in these languages are blocked."""

from __future__ import annotations

FRENCH = (
    "a comparé comparer comparaison examiné vérifié analysé étudié pesé considéré cherché recherché trouvé choisi classé trié "
    "organisé structuré rédigé écrit relu lu calculé estimé évalué résumé préparé planifié réfléchi pensé noté listé expliqué "
    "simplifié corrigé plusieurs quelques différents différentes options option façons façon manières étapes étape points point plan "
    "idées idée réponse question questions temps coût coûts prix trajet trajets texte structure exemples exemple raisons causes "
    "avantages inconvénients selon chaque autres meilleure meilleur possible possibles chemins"
)
SPANISH = (
    "ha he comparado comparó analizado examinado revisado verificado comprobado pensado considerado buscado encontrado elegido "
    "ordenado organizado clasificado escrito redactado leído calculado estimado evaluado resumido preparado planeado explicado "
    "simplificado corregido varias varios algunas algunos distintas distintos diferentes opciones opción formas forma maneras pasos "
    "paso puntos plan ideas idea respuesta pregunta tiempo tiempos costo coste precio precios ruta rutas ciudad texto estructura "
    "ejemplos razones causas ventajas desventajas según cada otras otros mejor posibles caminos"
)
ITALIAN = (
    "confrontato analizzato esaminato verificato controllato considerato valutato cercato trovato scelto ordinato organizzato "
    "scritto letto calcolato stimato riassunto preparato pianificato pensato spiegato semplificato corretto diverse diversi alcune "
    "alcuni opzioni opzione modi modo passi passo punti piano idee risposta domanda tempo tempi costi costo prezzo percorsi testo "
    "struttura esempi ragioni cause vantaggi svantaggi secondo ogni altre altri migliore possibili"
)
PORTUGUESE = (
    "comparou comparei analisou examinou verificou considerou avaliou procurou encontrou escolheu ordenou organizou escreveu leu "
    "calculou estimou resumiu preparou planejou pensou explicou simplificou corrigiu várias vários algumas alguns diferentes opções "
    "opção formas maneiras passos pontos plano ideias resposta pergunta tempo custo preço rotas texto estrutura exemplos razões "
    "causas vantagens desvantagens segundo cada outras outros melhor possíveis"
)
DUTCH = (
    "vergeleek vergeleken bekeek bekeken controleerde gecontroleerd zocht gezocht vond gevonden koos gekozen ordende geordend "
    "schreef geschreven las gelezen berekende geschat overwoog overwogen dacht nagedacht plande verschillende enkele opties manieren "
    "stappen punten plan antwoord vraag tijd kosten prijs route tekst structuur voorbeelden redenen voordelen nadelen elke andere "
    "beste mogelijke"
)
RUSSIAN = (
    "сравнил сравнила сравнение проверил проверила рассмотрел изучил изучила проанализировал оценил оценила взвесил нашёл искал "
    "выбрал составил упорядочил написал прочитал посчитал рассчитал обдумал подготовил уточнил объяснил несколько разные разных "
    "варианты вариантов способы способов пути шаги шагов план идеи ответ ответа вопрос вопроса время стоимость цены маршруты "
    "маршрутов текст структуру примеры причины плюсы минусы для по и в на с о об к от до из за между все каждый каждого лучший "
    "возможные"
)
JAPANESE = (
    "比較 検討 確認 整理 分析 調査 計算 評価 検証 要約 計画 作成 選択 説明 分類 考慮 調べ 考え 見直 選び 書き 読み まとめ 方法 "
    "選択肢 情報 内容 手順 要点 構成 時間 費用 価格 経路 天気 距離 例 理由 原因 条件 質問 回答 答え 文章 表現 違い 特徴 長所 短所 "
    "候補 順番 流れ 案 を に で と の は が も から まで や へ した しました して する ました ます て た いくつか 複数 各 それぞれ"
)
BY_LANGUAGE = {
    "French": FRENCH,
    "Spanish": SPANISH,
    "Italian": ITALIAN,
    "Portuguese": PORTUGUESE,
    "Dutch": DUTCH,
    "Russian": RUSSIAN,
}
