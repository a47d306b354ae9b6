kernel[2J.trace
