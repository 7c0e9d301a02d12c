"""The look of the site: brand, languages, templates, static files.

``brand`` is the operator's name, mark and colour: it makes the colour readable in both themes and writes the style sheets, which
``web.pages`` serves under an address that changes with their content. ``languages`` knows the languages, ``catalogues`` compiles
``chatui/locale``. ``templates`` loads templates without their indentation. Scripts and style sheets reach a browser joined: when files are
collected, ``static_files`` puts the modules that the same pages need into one file; in debug mode each file is served unchanged.
``formats`` is where Django looks for the formats of dates.
"""
