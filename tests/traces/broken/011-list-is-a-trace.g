-kernel name = broken
-kernel id = 1
-grid dim = (1,1,1)
-block dim = (32,1,1)
-shmem = 0
-nregs = 16
-binary version = 70
-cuda stream id = 0
-shmem base_addr = 0x00007f4ace000000
-local mem base_addr = 0x00007f4ad0000000
-nvbit version = 1.7
-accelsim tracer version = 5
-enable lineinfo = 0

#traces format = PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width [mode addresses] immediate

#BEGIN_TB

thread block = 0,0,0

warp = 0
insts = 3
0000 ffffffff 1 R1 MOV 1 R255 0 0
0010 ffffffff 1 R4 LDG.E.SYS 1 R2 4 1 0x7f4b00000000 4 0
0020 ffffffff 0 EXIT 0 0 0

#END_TB

