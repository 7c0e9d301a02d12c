"""What confines the processes that run or read what strangers wrote: filters of system calls, and limits."""
