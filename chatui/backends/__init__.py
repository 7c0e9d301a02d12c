"""Model servers, a folder per wire format; no Django in here. Read ``base`` first, then ``registry``."""
