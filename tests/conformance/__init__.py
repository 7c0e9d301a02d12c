"""Cases of OpenChatML 2.2 for any implementation, and the test that runs them against ours."""
