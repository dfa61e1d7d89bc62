// Streams and events of a device, for those who only pass them on: the device knows what they are.
#pragma once

namespace tenon {

/// Work of a device that is done in its order; by pointer alone. Null is the default stream.
struct Stream;
/// A moment in the work of a stream; by pointer alone.
struct Event;

}  // namespace tenon
