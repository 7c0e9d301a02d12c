"""Patterns of lines that ask for something without an imperative, or name a place to go to, to call or to click, by language."""

from __future__ import annotations

FOLDED = (
    # English
    r"\b(?:button|link|form|number|line|address|page|website|site|desk|code|box) (?:below|above|here)\b"
    r"|\b(?:by|over) (?:the )?(?:tele)?phone\b|\b(?:help|service|support|front|info|information) (?:desk|page|line|center|centre|team|staff)\b"
    r"|\b(?:reach|contact|avail|find)(?:ed|able)? (?:at|on|under|via|through|in) (?:the|our|a|any)\b|\bavailable (?:at|on|under|via|through) the\b"
    r"|\b(?:details?|more|information|terms|help|support|refunds?) (?:is |are )?(?:on|at|in|under) the (?:website|web ?site|page|site|app|office|branch)\b"
    r"|\b(?:is|are) (?:over)?due\b|\b(?:has|have|had) to be \w+(?:ed|id|nt|de)\b"
    r"|\b(?:users?|customers?|clients?|readers?|everyone|everybody|anyone|anybody|one|people|person|members?|owners?|callers?|visitors?)"
    r" (?:should|must|needs?|has to|have to|ought|had better|(?:is|are) (?:advised|asked|required|urged|invited|encouraged|requested))\b"
    r"|\b(?:account|card|device|computer|phone|password|data|money|profile|access) (?:is|was|are|has been|have been|will be) "
    r"(?:locked|blocked|frozen|hacked|gone|suspended|stolen|lost|closed|expired|deleted|at risk|in danger)\b"
    r"|\b(?:confirmation|payment|verification|login|registration|deposit|transfer|signature|action|response|reply)"
    r" (?:is |was )?(?:needed|required|due|pending|expected|necessary)\b"
    r"|\b(?:message|mail|call|note|visit|word) to (?:the )?(?:support|service|staff|team|office|bank|owner)\b|^time to \w+|\b(?:message|note|call|transfer|payment|deposit|donation|visit)(?: \w+){0,3} would help$"
    r"|^best to\b|\b(?:it is|its) (?:best|better|time|wise|necessary|important|urgent) to\b"
    # German
    r"|\b(?:ist|sind) (?:\w+ ){0,3}zu (?:zahlen|bezahlen|senden|schicken|uberweisen|melden|bestatigen|unterschreiben|offnen|laden|rufen|geben|beachten)\b"
    r"|\bman (?:muss|soll|sollte|darf)\b|\b(?:mieter|kunden|nutzer|leser|alle|jeder|interessierte|betroffene) (?:soll|sollte|sollten|sollen|mussen|muss)\b"
    r"|\b(?:abholen|einreichen|einsenden|vorzeigen|uberweisen|herunterladen|hinterlegen|vorsprechen|zuruckrufen|mitteilen)$"
    r"|\b(?:konto|karte|zugang|gerat|geld) (?:\w+ )?(?:ist|wurde|wird|sind) (?:\w+ )?(?:gesperrt|gestohlen|weg|abgelaufen|gehackt|geloscht|eingefroren)\b"
    r"|\b(?:unter|mit) der (?:nummer|adresse|hotline)\b|\b(?:link|formular|knopf|schaltflache|seite) (?:unten|oben|hier|im brief)\b"
    r"|\b(?:zahlung|bestatigung|unterschrift|anmeldung|anruf) (?:ist )?(?:notig|erforderlich|fallig|notwendig)\b|\btelefonisch\b"
    # Spanish, French
    r"|\b(?:hay|tiene|tienen|tendra) que\b|\b(?:se )?debe(?:n|ra|ran|ria)? \w+(?:ar|er|ir)(?:se)?\b|\bes (?:necesario|obligatorio|preciso|urgente|mejor)\b"
    r"|\b(?:escriba|vaya|ingrese|acuda|pague|introduzca|visite|confirme|verifique)\b|\bfirme (?:el|la|aqui)\b"
    r"|\b(?:en|a|desde) (?:la (?:pagina|web)|el sitio|soporte|ventanilla|atencion al cliente)\b"
    r"|\bcuenta (?:esta|fue|sera|ha sido) (?:bloqueada|cerrada|suspendida)\b|\b(?:pago|confirmacion|firma) (?:es )?(?:necesari[oa]|pendiente|requerid[oa])\b"
    r"|\bil faut\b|\bdoit etre\b|\b(?:rendez|allez|entrez|saisissez|confirmez|signez|composez|visitez|ecrivez|cliquer) \w+|\bpar telephone\b"
    r"|\b(?:compte|carte) (?:est|a ete|sera) (?:bloquee?|suspendue?|fermee?)\b|\b(?:bouton|lien|formulaire) (?:ci dessous|ci dessus)\b"
)
"""For folded words of a line with a space between each two."""
RAW = (
    "\u5b98\u7f51|\u5b98\u65b9\u7f51\u7ad9|\u52a0\u7fa4|\u52a0\u5165\u7fa4|\u626b.{0,4}\u7801|\u67dc\u53f0|\u4ed8\u6e05|\u8d26\u6237.{0,4}\u51bb\u7ed3|\u51bb\u7ed3.{0,2}\u8d26\u6237"
    "|\u524d\u5f80.{0,2}(?:\u7f51|\u67dc|\u5e97|\u8425\u4e1a)|\u9886\u53d6|\u672c\u4eba\u5230|\u8be6\u60c5(?:\u89c1|\u8bf7)|\u8f93\u5165(?:\u5bc6\u7801|\u9a8c\u8bc1\u7801|\u8d26\u53f7|\u4ee3\u7801)"
    "|(?:\u5e94\u5f53|\u5fc5\u987b|\u9700\u8981|\u5efa\u8bae)(?:\u7acb\u5373|\u7acb\u523b|\u9a6c\u4e0a|\u73b0\u5728|\u672c\u4eba)|(?:\u5e94\u5f53|\u5fc5\u987b|\u5efa\u8bae)\u4eca\u5929|\u70b9.{0,3}\u6309\u94ae|\u54a8\u8be2\u70ed\u7ebf"
    "|\ud648\ud398\uc774\uc9c0\uc5d0\uc11c|\uace0\uac1d ?\uc13c\ud130|\ubc84\ud2bc\uc73c\ub85c|\ubc84\ud2bc\uc744|(?:\uc785\ub825|\ud655\uc778|\uc81c\ucd9c|\uc1a1\uae08|\uc5f0\ub77d|\ubc29\ubb38|\uc2e0\uccad|\uc694\uccad|\ub0a9\ubd80) ?(?:\ud544\uc694$|\ubc14\ub78c|\uc694\ub9dd|\ud560 \uac83|\uc694\ud568|\ud574\uc57c)"
    "|[\uac00-\ud7a3](?:\ubcfc|\uac08|\ub0bc|\uc904|\uc4f8|\ud560) \uac83$|(?:\ubcf4\ub0bc|\ub0bc|\uac08) \uac83$|\uae4c\uc9c0 (?:\ubcf4|\ub0b4|\ub0a9\ubd80|\uc785\uae08|\uc1a1\uae08)|(?:\uacc4\uc88c|\uce74\ub4dc|\uacc4\uc815).{0,4}(?:\uc815\uc9c0|\ub3d9\uacb0|\ucc28\ub2e8)"
    r"|\b\w{3,}(?:\u0438\u0442\u0435|\u0439\u0442\u0435|\u044c\u0442\u0435)(?:\u0441\u044c)?\b|\b\u043f\u043e (?:\u0441\u0441\u044b\u043b\u043a\u0435|\u0442\u0435\u043b\u0435\u0444\u043e\u043d\u0443|\u043d\u043e\u043c\u0435\u0440\u0443)\b"
    r"|\b(?:\u0432|\u043d\u0430) (?:\u0441\u043b\u0443\u0436\u0431\u0443|\u043f\u043e\u0434\u0434\u0435\u0440\u0436\u043a\u0443|\u0441\u0430\u0439\u0442|\u043a\u043d\u043e\u043f\u043a\u0443|\u0431\u0430\u043d\u043a)\b"
    r"|\b(?:\u043d\u0443\u0436\u0435\u043d|\u043d\u0443\u0436\u043d\u0430|\u043d\u0443\u0436\u043d\u043e|\u043d\u0430\u0434\u043e|\u043d\u0435\u043e\u0431\u0445\u043e\u0434\u0438\u043c\u043e|\u0441\u043b\u0435\u0434\u0443\u0435\u0442) "
    "(?:\u043a\u043e\u0434|\u043f\u0430\u0440\u043e\u043b\u044c|\u0437\u0432\u043e\u043d\u043e\u043a|\u043e\u043f\u043b\u0430\u0442\u0430|\\w+\u0442\u044c\\b)"
    "|(?:[\u0623\u0627]\u062f\u062e\u0644|\u0627\u0636\u063a\u0637|\u0627\u062a\u0635\u0644|\u0627\u0646\u0642\u0631|[\u0623\u0627]\u0631\u0633\u0644|\u0627\u062f\u0641\u0639|[\u0623\u0627]\u0643\u062f|\u062a\u0648\u0627\u0635\u0644|\u0631\u0627\u0633\u0644|\u0632\u0631 )"
    "|(?:\u0641\u064a|\u0639\u0644\u0649|\u0639\u0628\u0631) (?:\u0627\u0644\u0645\u0648\u0642\u0639|\u0627\u0644\u0631\u0627\u0628\u0637)|\u0627\u0644\u0631\u0627\u0628\u0637"
)
"""For lines as they are: Chinese, Korean, Russian and Arabic."""
