kernel-fine.traceg
kernel-cut.traceg
