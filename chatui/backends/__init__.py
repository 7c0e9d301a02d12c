"""Model servers: a folder for each wire format. Nothing here imports Django. Read ``base`` first, then ``registry``."""
