// SPDX-License-Identifier: MIT
// Machine code for a GPU (a cubin): an ELF file whose section .nv.info says, among other things, how many registers a kernel uses.
//
//   .nv.info   entries: 0 u8 format, 1 u8 attribute, 2 u16 value or, in format 4, bytes of the value that follows
//              attribute 0x2F, format 4: u32 index in .symtab, u32 registers per thread
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "workload/cuda/elf.hpp"

namespace mergelane::cuda {

using KernelRegisters = std::map<std::string, std::uint32_t, std::less<>>;

/// Registers per thread, by function. Never throws InputError: what is damaged is left out.
KernelRegisters registers_in_cubin(Bytes cubin);

/// The same for a container of device code: of the machine code for SM `sm` or, if there is none, for the lowest SM.
KernelRegisters registers_in_container(Bytes container, std::uint32_t sm);

}  // namespace mergelane::cuda
