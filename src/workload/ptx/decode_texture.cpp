// SPDX-License-Identifier: MIT
// Texture reads (tex, tld4) and surface accesses (suld, sust) through handles. The timing model sees each as an access to global memory.
#include "workload/ptx/decode.hpp"

namespace mergelane::ptx {

namespace {

struct Geometry {
    std::string_view name;
    std::uint8_t dimensions;
    bool layered;
    bool cube;
};
constexpr Geometry kGeometries[] = {{"1d", 1, false, false}, {"2d", 2, false, false},  {"3d", 3, false, false}, {"a1d", 1, true, false},
                                    {"a2d", 2, true, false}, {"cube", 3, false, true}, {"acube", 3, true, true}};
constexpr std::string_view kOutside[] = {"trap", "clamp", "zero"};
constexpr std::string_view kChannels[] = {"r", "g", "b", "a"};

}  // namespace

/// The handle and the coordinates of "[handle, {x, y}]", and the geometry.
void Decoder::texture_operand(const Instruction& instruction, const Operand& where, Inst& inst, TextureSite& site) {
    const Geometry* found = nullptr;
    for (const Geometry& geometry : kGeometries) {
        if (instruction.has(geometry.name)) found = &geometry;
    }
    if (found == nullptr) unsupported();
    site.dimensions = found->dimensions;
    site.layered = found->layered;
    site.cube = found->cube;
    if (where.kind != Operand::Kind::list || where.parts.size() != 2 || where.parts[0].reg == Operand::kNoReg)
        fail("{} needs a handle in a register and coordinates; write [%rd1, {{%f1, %f2}}] (texture references are not supported)",
             in_quotes(instruction.opcode));
    Operand handle = where.parts[0];
    handle.kind = Operand::Kind::reg;
    inst.a = source(handle, Type::u64);
    const Operand& list = where.parts[1];
    const std::size_t count = site.dimensions + (site.layered ? 1u : 0u);
    const bool vector = list.kind == Operand::Kind::vector;
    if (vector ? list.parts.size() < count || list.parts.size() > 4 : count != 1)
        fail("{} needs {} coordinates; add or remove some", in_quotes(instruction.opcode), count);
    for (std::size_t k = 0; k < count; ++k) {
        const Type type = site.integer_coordinates || (site.layered && k == 0) ? Type::b32 : Type::f32;
        site.coordinates[k] = source(vector ? list.parts[k] : list, type);
    }
}

void Decoder::emit_texture(Inst inst, const TextureSite& site) {
    inst.fn = site.is_surface ? access_surface : read_texture;
    inst.list = static_cast<std::uint32_t>(program_->textures.size());
    inst.memory = program_->timed.memory_count++;
    inst.line = at_->line;
    inst.space = StateSpace::global;
    inst.store = site.is_store;
    program_->textures.push_back(site);
    program_->code.push_back(inst);
    StaticInst attributes;
    attributes.lane_bytes = static_cast<std::uint8_t>(site.is_surface ? site.bytes * site.elements : 4);
    attributes.space = Space::global;
    time(site.is_store ? "st" : "ld", Type::b32, inst.memory, &attributes);
}

/// tex and tld4. Textures have one level here, so a level or a gradient changes nothing.
void Decoder::op_texture(const Instruction& instruction) {
    const std::size_t more = instruction.has("level") ? 1 : instruction.has("grad") ? 2 : 0;
    expect_operands(instruction, 2 + more);
    if (found_.types.size() != 2 || type_bytes(found_.types[0]) != 4 || !instruction.has("v4")) unsupported();
    Inst inst;
    TextureSite site;
    site.integer_coordinates = found_.types[1] == Type::s32;
    if (!site.integer_coordinates && found_.types[1] != Type::f32) unsupported();
    if (instruction.words[0] == "tld4" && (!instruction.find(kChannels, site.gather) || !instruction.has("2d"))) unsupported();
    texture_operand(instruction, instruction.operands[1], inst, site);
    if (site.integer_coordinates && site.cube) unsupported();
    const Operand& result = instruction.operands[0];
    if (result.kind != Operand::Kind::vector || result.parts.size() != 4) unsupported();
    for (std::size_t c = 0; c < 4; ++c)
        site.data[c] = result.parts[c].kind == Operand::Kind::sink ? kAbsent : destination(result.parts[c], found_.types[0]);
    emit_texture(inst, site);
}

/// suld.b and sust.b, whose first coordinate counts bytes.
void Decoder::op_surface(const Instruction& instruction) {
    expect_operands(instruction, 2);
    if (!instruction.has("b") || found_.types.size() != 1 || instruction.has("cube") || instruction.has("acube")) unsupported();
    Inst inst;
    TextureSite site;
    site.is_surface = true;
    site.is_store = instruction.words[0] == "sust";
    site.integer_coordinates = true;
    if (!instruction.find(kOutside, site.outside)) unsupported();
    texture_operand(instruction, instruction.operands[site.is_store ? 0 : 1], inst, site);
    const Operand& data = instruction.operands[site.is_store ? 1 : 0];
    site.bytes = static_cast<std::uint8_t>(type_bytes(type_));
    const bool vector = data.kind == Operand::Kind::vector;
    site.elements = static_cast<std::uint8_t>(vector ? data.parts.size() : 1);
    if (site.elements == 0 || site.elements > 4) unsupported();
    for (std::size_t e = 0; e < site.elements; ++e) {
        const Operand& part = vector ? data.parts[e] : data;
        std::uint8_t bytes = 0;
        site.data[e] = site.is_store ? any_source(part, type_, bytes) : any_destination(part, type_, bytes);
        if (e != 0 && bytes != site.register_bytes) unsupported();
        site.register_bytes = bytes;
    }
    if (site.register_bytes < site.bytes) unsupported();
    emit_texture(inst, site);
}

}  // namespace mergelane::ptx
