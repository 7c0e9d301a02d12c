"""Model servers, one wire format per file; no Django in here. Read ``base`` first, then ``registry``."""
