"""Reads exports of other chat products: ChatGPT, Open WebUI and LibreChat. Anything not known to be visible there is hidden here."""
