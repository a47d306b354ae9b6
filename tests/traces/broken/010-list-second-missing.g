kernel-fine.traceg
kernel-10.traceg
