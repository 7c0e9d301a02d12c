"""Addresses that must reach nothing: this machine and its neighbours in every spelling, other schemes, and what programs read differently.

``{PORT}``: a server of the test on loopback.
"""

_LOOPBACK = 0x7F000001
_NAMES = (
    "localhost",
    "LocalHost",
    "localhost.",
    "a.localhost",
    "localhost.localdomain",
    "printer.local",
    "metadata.google.internal",
    "build.lan",
)
_V4 = (
    *("127.0.0.1", "127.1", "127.0.1", "127.255.255.254", str(_LOOPBACK), hex(_LOOPBACK), f"0{_LOOPBACK:o}", "0x7f.1", "0177.0.0.1"),
    *("127.000.000.001", "0x7f.0x0.0x0.0x1", "0", "0.0.0.0", "0.0.0.1", "10.1.2.3", "172.31.0.1", "192.168.0.1", "169.254.169.254"),
    *("100.64.0.1", "192.0.0.192", "198.18.0.1", "203.0.113.1", "224.0.0.251", "168.63.129.16", "240.0.0.1", "255.255.255.255"),
    *("127\u30020\u30020\u30021", "\uff11\uff12\uff17.0.0.1", "\u2460\u2461\u2466.\u24ea.\u24ea.\u2460", "%31%32%37.0.0.1"),
)
_V6 = (
    *("::1", "0:0:0:0:0:0:0:1", "::", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1"),
    *("64:ff9b:1::7f00:1", "2002:7f00:1::1", "2001:0:7f00:1::", "fe80::1", "fe80::1%25lo", "fe80::1%lo", "fd00::1", "fec0::1"),
    *("fd00:ec2::254", "ff02::1", "100::1", "2001:db8::1"),
)
_ODD = (
    *("http://me@127.0.0.1:{PORT}/", "http://tea.example@127.0.0.1:{PORT}/", "http://127.0.0.1:{PORT}\\@tea.example/"),
    *("http://127.0.0.1:{PORT}%2f@tea.example/", "http://127.0.0.1:{PORT}#@tea.example/", "http://127.0.0.1%00.tea.example:{PORT}/"),
    *(
        " http://127.0.0.1:{PORT}/",
        "http://127.0.0.1:{PORT}\t/",
        "http://127.0.0.1\n:{PORT}/",
        "HTTP://127.0.0.1:{PORT}/",
        "https://127.0.0.1:{PORT}/",
    ),
    *("//127.0.0.1:{PORT}/", "http:127.0.0.1:{PORT}", "http:///127.0.0.1:{PORT}/", "http://[::1:{PORT}/", "http://tea.example:99999/"),
    *(
        "http://127.0.0.1:22/",
        "http://tea.example:6379/",
        "http://-tea.example/",
        "http://tea..example/",
        "http://",
        "127.0.0.1:{PORT}",
        "",
    ),
    *(f"{scheme}://127.0.0.1:{{PORT}}/" for scheme in ("ftp", "gopher", "ws", "dict", "ldap", "view-source:http", "jar:http", "file")),
    *("file:///etc/passwd", "data:text/html,x", "javascript:alert(1)", "about:blank"),
)
HOSTILE = (
    *(f"http://{host}:{{PORT}}/" for host in (*_NAMES, *_V4)),
    *(f"http://[{host}]:{{PORT}}/" for host in _V6),
    *_ODD,
)
