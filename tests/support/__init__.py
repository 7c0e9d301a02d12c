"""What tests share: servers, sockets and model servers that stand in for real ones."""
