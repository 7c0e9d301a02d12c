"""What an operator says about model servers: what a spec is, reading a file of them, writing into one."""
