"""What a model may call: our tools, functions of packages and programs, tools of other servers; and the only fetcher."""
