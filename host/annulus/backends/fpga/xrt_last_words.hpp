// What is said when XRT ends the program.
//
// XRT's emulation knows no error for a card whose process died or did not start: it calls exit(1), within a
// load or in its handler of SIGCHLD, and what called it never hears of it. All that can be done then is to
// say what happened and to leave with the right code. An output file is as readable as after a kill.
#pragma once

#include <functional>
#include <string>

namespace annulus {

// At most one lives at a time, as there is one emulated card. Nothing happens to a program that ends for
// other reasons, nor to other threads.
class LastWords {
 public:
  // text: what to write to standard error. exit_code: how the program then ends.
  LastWords(std::string text, int exit_code);
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

  // Every load of an xclbin goes through this: XRT starts the card's process in one of them.
  void during_load(const std::function<void()>& load);

 private:
  const std::string text_;
  const int exit_code_;
};

}  // namespace annulus
