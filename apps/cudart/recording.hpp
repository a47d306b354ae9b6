// SPDX-License-Identifier: MIT
// Writes the launches of a running program into a trace file. The command that started the program examines what is left when it has ended:
// PATH on success, PATH.refused with a message if something cannot be recorded.
#pragma once

#include <memory>
#include <string>

#include "core/kernel.hpp"
#include "workload/tracefile/writer.hpp"

namespace mergelane::cudart {

class Recording {
public:
    Recording(std::string path, std::string program);

    /// Refuses if the file cannot be written, or if another process of the program has begun a recording.
    void add(const KernelSource& kernel);
    /// Renames the file to its final name, if there were launches. Called at most once.
    void finish();
    /// There will be no trace: leaves a message for the command and ends the process, so that the user does not wait in vain.
    [[noreturn]] void refuse(const std::string& why) const;

private:
    void begin();
    void leave_note(const std::string& why) const;

    std::string path_;
    std::string program_;
    std::unique_ptr<tracefile::TraceRecorder> recorder_;  ///< created at the first launch
    int process_;
    bool finished_ = false;
};

}  // namespace mergelane::cudart
