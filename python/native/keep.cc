#include "keep.h"

#include <unordered_map>

namespace tenon::python {

namespace {

/// What each object keeps: a dictionary of roles, or of addresses for what has no role. The objects
/// own them by nb::keep_alive_obj(), which lets go of them after all else.
std::unordered_map<PyObject*, PyObject*>& all_kept() {
  static auto* const all = new std::unordered_map<PyObject*, PyObject*>;  // Outlives all objects.
  return *all;
}

nb::dict kept_by(nb::handle owner) {
  PyObject*& kept = all_kept()[owner.ptr()];
  if (kept != nullptr) return nb::borrow<nb::dict>(kept);
  nb::dict made;
  kept = made.ptr();
  nb::keep_alive_obj(owner, made);
  nb::keep_alive_cb(owner, owner.ptr(),
                    [](void* gone) noexcept { all_kept().erase(static_cast<PyObject*>(gone)); });
  return made;
}

bool can_keep(nb::handle owner) {
  return owner.is_valid() && !owner.is_none() && nb::type_check(owner.type());
}

}  // namespace

void keep(nb::handle owner, nb::handle object) {
  if (!can_keep(owner) || object.is_none() || owner.is(object)) return;
  kept_by(owner)[nb::int_(reinterpret_cast<uintptr_t>(object.ptr()))] = object;
}

void keep_as(nb::handle owner, nb::handle role, nb::handle object) {
  if (!can_keep(owner)) return;
  nb::dict kept = kept_by(owner);
  if (!object.is_none())
    kept[role] = object;
  else if (kept.contains(role))
    nb::del(kept[role]);
}

void keep_parent(nb::handle child, nb::handle parent) {
  keep(child, parent);
  const auto found = all_kept().find(parent.ptr());
  if (!can_keep(child) || found == all_kept().end()) return;
  const nb::object now = nb::steal(PyDict_Copy(found->second));
  if (!now.is_valid()) throw nb::python_error();
  keep(child, now);
}

int visit_kept(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const auto found = all_kept().find(self);
  if (found != all_kept().end()) Py_VISIT(found->second);
  return 0;
}

}  // namespace tenon::python
