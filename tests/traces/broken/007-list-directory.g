kernel-folder.traceg
