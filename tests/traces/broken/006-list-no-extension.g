kernel-1
