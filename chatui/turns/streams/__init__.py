"""What each follower of a turn gets: the person, a program, the debug view, a page of another process."""
