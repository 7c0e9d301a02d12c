"""Reads exports of other chat products: ChatGPT, Open WebUI and LibreChat. What is not known to be visible there is hidden here."""
