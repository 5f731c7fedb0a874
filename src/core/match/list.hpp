// Doubly linked list through the elements themselves. Owns nothing.
#pragma once

namespace hf::core::match {

struct Link {
  Link* previous = nullptr;
  Link* next = nullptr;
  bool linked() const { return next != nullptr; }
};

template <class T>
class List {
 public:
  List() { anchor_.next = anchor_.previous = &anchor_; }
  List(const List&) = delete;
  List& operator=(const List&) = delete;
  bool empty() const { return anchor_.next == &anchor_; }
  T* first() const { return wrap(anchor_.next); }
  T* after(const T& element) const { return wrap(static_cast<const Link&>(element).next); }
  void push_back(T& element) {
    Link& link = element;
    link.previous = anchor_.previous;
    link.next = &anchor_;
    anchor_.previous->next = &link;
    anchor_.previous = &link;
  }
  void remove(T& element) {
    Link& link = element;
    link.previous->next = link.next;
    link.next->previous = link.previous;
    link.next = link.previous = nullptr;
  }

 private:
  T* wrap(Link* link) const { return link == &anchor_ ? nullptr : static_cast<T*>(link); }
  Link anchor_;
};

}  // namespace hf::core::match
