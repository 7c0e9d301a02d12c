"""The Linux system calls that confined processes may make, with their numbers on x86-64 and 64-bit ARM; ``-`` where there is none.

The numbers are part of the kernel's interface and never change. A test compares them with those of libseccomp.
"""

from __future__ import annotations

ALLOWED = """
brk 12 214; madvise 28 233; mincore 27 232; mmap 9 222; mprotect 10 226; mremap 25 216; msync 26 227; munmap 11 215
access 21 -; chdir 80 49; chmod 90 -; close 3 57; close_range 436 436; copy_file_range 326 285; creat 85 -; dup 32 23; dup2 33 -
dup3 292 24; faccessat 269 48; faccessat2 439 439; fadvise64 221 223; fallocate 285 47; fchdir 81 50; fchmod 91 52; fchmodat 268 53
fcntl 72 25; fdatasync 75 83; flock 73 32; fstat 5 80; fstatfs 138 44; fsync 74 82; ftruncate 77 46; futimesat 261 -; getcwd 79 17
getdents 78 -; getdents64 217 61; link 86 -; linkat 265 37; lseek 8 62; lstat 6 -; mkdir 83 -; mkdirat 258 34; newfstatat 262 79
open 2 -; openat 257 56; pread64 17 67; preadv 295 69; pwrite64 18 68; pwritev 296 70; read 0 63; readahead 187 213; readlink 89 -
readlinkat 267 78; readv 19 65; rename 82 -; renameat 264 38; renameat2 316 276; rmdir 84 -; sendfile 40 71; stat 4 -; statfs 137 43
statx 332 291; symlink 88 -; symlinkat 266 36; truncate 76 45; umask 95 166; unlink 87 -; unlinkat 263 35; utime 132 -; utimensat 280 88
utimes 235 -; write 1 64; writev 20 66
epoll_create 213 -; epoll_create1 291 20; epoll_ctl 233 21; epoll_pwait 281 22; epoll_wait 232 -; eventfd2 290 19; pause 34 -; pipe 22 -
pipe2 293 59; poll 7 -; ppoll 271 73; pselect6 270 72; select 23 -; timerfd_create 283 85; timerfd_gettime 287 87
timerfd_settime 286 86
alarm 37 -; clock_getres 229 114; clock_gettime 228 113; clock_nanosleep 230 115; getitimer 36 102; gettimeofday 96 169
nanosleep 35 101; setitimer 38 103; time 201 -; times 100 153
restart_syscall 219 128; rt_sigaction 13 134; rt_sigpending 127 136; rt_sigprocmask 14 135; rt_sigreturn 15 139; rt_sigsuspend 130 133
rt_sigtimedwait 128 137; sigaltstack 131 132; tgkill 234 131
arch_prctl 158 -; futex 202 98; get_robust_list 274 100; getcpu 309 168; membarrier 324 283; rseq 334 293; sched_getaffinity 204 123
sched_getparam 143 121; sched_getscheduler 145 120; sched_yield 24 124; set_robust_list 273 99; set_tid_address 218 96
execve 59 221; exit 60 93; exit_group 231 94; getegid 108 177; geteuid 107 175; getgid 104 176; getgroups 115 158; getpgid 121 155
getpgrp 111 -; getpid 39 172; getppid 110 173; getpriority 140 141; getrandom 318 278; getresgid 120 150; getresuid 118 148
getrlimit 97 163; getrusage 98 165; getsid 124 156; gettid 186 178; getuid 102 174; sysinfo 99 179; uname 63 160; wait4 61 260
waitid 247 95
getsockopt 55 209; recvfrom 45 207; sendto 44 206; shutdown 48 210
"""
"""The calls that a model's code may make. Python does not run without them."""

ALLOWED_FOR_READING = """
brk; mmap; munmap; mprotect; mremap; madvise; read; readv; pread64; write; writev; lseek; fstat; close; futex; clock_getres; clock_gettime
gettimeofday; time; times; getrusage; getrandom; getpid; gettid; sched_yield; rt_sigaction; rt_sigprocmask; rt_sigreturn; sigaltstack
restart_syscall; exit; exit_group
"""
"""The calls of ``ALLOWED`` that suffice to convert input bytes to text. None of them opens a file or socket, or starts a process."""

RESTRICTED = """clone 56 220; ioctl 16 29; prctl 157 167; prlimit64 302 261; socketpair 53 199"""
"""Allowed with some arguments only, see ``seccomp``."""

UNIMPLEMENTED = """clone3 435 435"""
"""Fails with ENOSYS, as on a kernel without it, so that libraries use ``clone``: a filter cannot see its arguments, which are in memory."""

REFUSED = """
accept 43 202; accept4 288 242; add_key 248 217; bind 49 200; bpf 321 280; chown 92 -; chroot 161 51; connect 42 203
delete_module 176 106; fanotify_init 300 262; fchown 93 55; fork 57 -; fsopen 430 430; init_module 175 105; io_uring_enter 426 426
io_uring_setup 425 425; kcmp 312 272; kexec_load 246 104; keyctl 250 219; kill 62 129; lchown 94 -; listen 50 201; memfd_create 319 279
memfd_secret 447 447; mknod 133 -; mknodat 259 33; mlock 149 228; mlockall 151 230; mount 165 40; move_mount 429 429
name_to_handle_at 303 264; open_by_handle_at 304 265; perf_event_open 298 241; personality 135 92; pidfd_getfd 438 438
pidfd_open 434 434; pivot_root 155 41; process_vm_readv 310 270; process_vm_writev 311 271; ptrace 101 117; recvmsg 47 212
request_key 249 218; seccomp 317 277; sendmmsg 307 269; sendmsg 46 211; setgid 106 144; sethostname 170 161; setns 308 268
setpgid 109 154; setpriority 141 140; setresuid 117 147; setsid 112 157; setuid 105 146; shmat 30 196; shmget 29 194; socket 41 198
splice 275 76; swapon 167 224; syslog 103 116; tee 276 77; tkill 200 130; umount2 166 39; unshare 272 97; userfaultfd 323 282
vfork 58 -; vmsplice 278 75
"""
"""Fails with EPERM. A call that is in no table fails with ENOSYS, as on a kernel without it."""


def call_numbers(table: str, machine: str) -> dict[str, int]:
    """The numbers of a table by name. ``machine``: ``x86_64`` or ``aarch64``."""
    column = {"x86_64": 1, "aarch64": 2}[machine]
    rows = [entry.split() for line in table.split("\n") for entry in line.split("; ") if entry]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}
