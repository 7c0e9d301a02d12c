"""The look of the site: brand, languages, templates, static files.

``brand`` is the operator's name, mark and colour: it makes the colour readable in both themes and writes the style sheets, which
``web.pages`` serves under an address that changes with their content. ``languages`` knows the languages, ``catalogues`` compiles
``chatui/locale``. ``templates`` loads templates without their indentation. ``static_files`` gives collected files names with a hash; in
debug mode each file is served unchanged.
``formats`` is where Django looks for the formats of dates.
"""
