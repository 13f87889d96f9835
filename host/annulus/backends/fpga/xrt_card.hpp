// A card that several threads use, and that may be lost and come back.
#pragma once

#include <annulus/backends/fpga/fpga_backends.hpp>
#include <annulus/backends/fpga/xrt_session.hpp>
#include <annulus/core/error.hpp>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace annulus {

class XrtCard {
 public:
  // Opens the card and loads the xclbin. Throws kBackend.
  XrtCard(std::string device, const XrtOptions& options);

  // Calls use(session) until the card is not lost meanwhile, which is CardLost or any exception of XRT. A
  // lost card is reopened if that was asked for and was not done before; otherwise kBackend is thrown, to
  // every thread that uses it.
  void with_session(const std::function<void(XrtSession&)>& use);

  double timeout_seconds() const { return options_.device_timeout; }

 private:
  // Keeps for ever what has not ended: to destroy it would crash XRT.
  struct DestroyIfEnded {
    void operator()(const xrt::run* run) const;
  };

  void load_xclbin();
  bool busy() const;
  void await_runs() const;
  void open_session();
  unsigned enter();
  void leave();
  void recover(unsigned generation, const std::string& reason);
  Error lost_error(const std::string& reason) const;

  const std::string device_name_;
  const XrtOptions options_;
  std::string name_;
  xrt::device device_;
  bool loaded_ = false;  // the xclbin was loaded once, so it is one for this card

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<XrtSession> session_;
  std::unique_ptr<const xrt::run, DestroyIfEnded> abandoned_;  // by a session that could not be opened
  unsigned generation_ = 0;  // of the session: a new one may lie where the old one was
  unsigned users_ = 0;       // threads between enter and leave
  bool recovered_ = false;
  std::optional<Error> failure_;
};

// The cards of this machine: name, address and what is loaded, or why one cannot be opened.
struct CardDescription {
  std::string text;
  bool usable = false;
};
std::vector<CardDescription> describe_cards();

// The same for `count` cards, each described by `describe`, which may throw.
std::vector<CardDescription> describe_cards(unsigned count,
                                            const std::function<std::string(unsigned index)>& describe);

}  // namespace annulus
