"""The configuration of model servers: its definition, and reading and writing the operator's TOML file."""
