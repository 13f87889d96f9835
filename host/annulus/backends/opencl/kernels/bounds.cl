// Every access to global memory goes through one of these. With CHECK_BOUNDS an index that is out of bounds is
// counted and replaced by 0: tests run that build.
#ifdef CHECK_BOUNDS
ulong checked_index(ulong index, ulong width, ulong count, volatile global uint* violations) {
  if (index < count && width <= count - index) return index;
  atomic_inc(violations);
  return 0;
}
#define INDEX(index, width, count) checked_index((index), (width), (count), violations)
#else
#define INDEX(index, width, count) ((void)(count), (index))
#endif
#define AT(array, index, count) (array)[INDEX(index, 1, count)]
#define LOAD(width, array, index, count) vload##width(0, (array) + INDEX(index, width, count))
#define STORE(width, value, array, index, count) vstore##width((value), 0, (array) + INDEX(index, width, count))
