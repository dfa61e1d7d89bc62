/// The beginning and the end of the process, and forks in between.
#pragma once

namespace tenon::cudart {

/// True from the moment that `exit` stopped the workers: nothing that waits for work may block
/// then.
bool process_is_ending();

/// True in the child of a fork that happened after the runtime was used: its threads are gone.
bool process_was_forked();

/// Called once, when the runtime is first used.
void watch_forks();

/// Registers the exit handler with the first worker thread, so that it runs before the destructors
/// of objects that were made earlier and that running work may still need.
void stop_workers_at_exit();

}  // namespace tenon::cudart
