// SPDX-License-Identifier: MIT
// Writes .tracez files from the text of a trace: header, dictionary, warps in sub-chunks, index. For tests and measurements.
#pragma once

#include <zdict.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace mergelane::testing {

struct TracezOptions {
    std::size_t chunk = 2048;  ///< instructions; 0: a warp in one
    bool dictionary = true;    ///< if one can be trained
    bool content_size = true;  ///< frames say how large they are
};

/// Where the parts are, so that tests can damage them.
struct TracezFileParts {
    std::string bytes;
    std::size_t dictionary_size_at = 0;
    std::size_t dictionary_size = 0;
    std::size_t data_at = 0;
    std::size_t index_at = 0;
};

class TracezWriter {
public:
    explicit TracezWriter(const TracezOptions& options = {}) : options_(options) {}

    TracezFileParts write(std::string_view text) {
        read(text);
        TracezFileParts file;
        file.bytes = header_ + '\0';
        const std::string dictionary = options_.dictionary ? train() : std::string();
        file.dictionary_size_at = file.bytes.size();
        file.dictionary_size = dictionary.size();
        put(file.bytes, dictionary.size(), 4);
        put(file.bytes, options_.chunk, 4);
        file.bytes += dictionary;
        file.data_at = file.bytes.size();
        context_.reset(ZSTD_createCCtx());
        ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, 3);
        ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_contentSizeFlag, options_.content_size ? 1 : 0);
        if (!dictionary.empty()) ZSTD_CCtx_loadDictionary(context_.get(), dictionary.data(), dictionary.size());
        std::string index;
        put(index, ctas_.size(), 4);
        for (const Cta& cta : ctas_) {
            for (const std::uint32_t word : cta.words) put(index, word, 4);
            put(index, cta.warps.size(), 4);
            for (const auto& warp : cta.warps) write_warp(warp, file.bytes, index);
        }
        file.index_at = file.bytes.size();
        file.bytes += index;
        put(file.bytes, file.index_at, 8);
        return file;
    }

private:
    using Warp = std::vector<std::string_view>;
    struct Cta {
        std::array<std::uint32_t, 10> words{};  ///< ids of CTA, cluster and CTA in the cluster, rank
        std::vector<Warp> warps;
    };

    static void put(std::string& to, std::uint64_t value, int bytes) {
        for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8 * i) & 0xff);
    }
    static std::string_view behind(std::string_view line, std::string_view key) {
        return line.starts_with(key) ? line.substr(key.size()) : std::string_view{};
    }

    void read(std::string_view text) {
        const std::size_t begin = text.find("#BEGIN_TB");
        header_ = text.substr(0, begin);
        while (header_.size() > 1 && header_.ends_with("\n\n")) header_.pop_back();
        text.remove_prefix(std::min(begin, text.size()));
        ctas_.clear();
        while (!text.empty()) {
            const std::string_view line = text.substr(0, text.find('\n'));
            text.remove_prefix(std::min(text.size(), line.size() + 1));
            if (line.empty() || line.starts_with("#END") || line.starts_with("insts")) continue;
            if (line.starts_with("#BEGIN"))
                ctas_.emplace_back();
            else if (ctas_.empty())
                continue;
            else if (const auto id = behind(line, "thread block = "); !id.empty())
                read_triple(id, 0);
            else if (const auto cluster = behind(line, "cluster id = "); !cluster.empty())
                read_triple(cluster, 3);
            else if (const auto inside = behind(line, "cluster cta = "); !inside.empty())
                read_triple(inside, 6);
            else if (const auto rank = behind(line, "cluster rank = "); !rank.empty())
                ctas_.back().words[9] = static_cast<std::uint32_t>(std::strtoul(std::string(rank).c_str(), nullptr, 10));
            else if (line.starts_with("warp"))
                ctas_.back().warps.emplace_back();
            else if (!ctas_.back().warps.empty())
                ctas_.back().warps.back().push_back(line);
        }
    }
    void read_triple(std::string_view text, std::size_t at) {
        unsigned x = 0, y = 0, z = 0;
        if (std::sscanf(std::string(text).c_str(), "%u,%u,%u", &x, &y, &z) != 3) return;
        std::array<std::uint32_t, 10>& words = ctas_.back().words;
        words[at] = x, words[at + 1] = y, words[at + 2] = z;
        if (at == 0) words[3] = x, words[4] = y, words[5] = z;  // each CTA a cluster of its own, unless it says otherwise
    }

    /// From every eighth line, up to 1 MiB; empty if zstd finds too little.
    std::string train() const {
        std::string samples;
        std::vector<std::size_t> sizes;
        std::size_t number = 0;
        for (const Cta& cta : ctas_) {
            for (const Warp& warp : cta.warps) {
                for (const std::string_view line : warp) {
                    if (number++ % 8 != 0 || samples.size() >= std::size_t{1} << 20) continue;
                    samples += line;
                    sizes.push_back(line.size());
                }
            }
        }
        std::string dictionary(std::size_t{64} << 10, '\0');
        const std::size_t size =
            ZDICT_trainFromBuffer(dictionary.data(), dictionary.size(), samples.data(), sizes.data(), static_cast<unsigned>(sizes.size()));
        dictionary.resize(ZDICT_isError(size) != 0 ? 0 : size);
        return dictionary;
    }

    /// Ends of the sub-chunks; a replay region is never divided.
    std::vector<std::size_t> ends(const Warp& warp) const {
        std::vector<std::size_t> found;
        std::size_t begin = 0;
        bool inside = false;
        for (std::size_t i = 0; i < warp.size(); ++i) {
            if (warp[i].find("REPLAY_START") != std::string_view::npos) inside = true;
            if (warp[i].find("REPLAY_END") != std::string_view::npos) inside = false;
            const bool full = options_.chunk != 0 && i + 1 - begin >= options_.chunk && !inside;
            if (!full && i + 1 != warp.size()) continue;
            found.push_back(i + 1);
            begin = i + 1;
        }
        return found;
    }

    void write_warp(const Warp& warp, std::string& bytes, std::string& index) {
        const std::vector<std::size_t> chunks = ends(warp);
        for (std::string* const to : {&bytes, &index}) {
            put(*to, warp.size(), 4);
            put(*to, chunks.size(), 4);
        }
        put(index, bytes.size() - 8, 8);
        std::size_t from = 0;
        for (const std::size_t end : chunks) {
            std::string lines;
            for (std::size_t i = from; i < end; ++i) lines += (i == from ? "" : "\n") + std::string(warp[i]);
            put(index, end - from, 4);
            from = end;
            std::string frame(ZSTD_compressBound(lines.size()), '\0');
            const std::size_t size = ZSTD_compress2(context_.get(), frame.data(), frame.size(), lines.data(), lines.size());
            if (ZSTD_isError(size) != 0) throw std::runtime_error(ZSTD_getErrorName(size));
            put(bytes, size, 4);
            bytes.append(frame, 0, size);
        }
    }

    struct FreeContext {
        void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
    };

    TracezOptions options_;
    std::string header_;
    std::vector<Cta> ctas_;
    std::unique_ptr<ZSTD_CCtx, FreeContext> context_;
};

}  // namespace mergelane::testing
