MemcpyHtoD,0x7f4b00000000,4096
kernel-9.traceg
