// Typed arrays that are kept from one update to the next, so that memory stays flat.

/** The array if it holds `size` numbers, else a longer one that begins with the same numbers. */
export function buffer(array, size, Kind = Float64Array) {
  if (array && array.length >= size) return array;
  const made = new Kind(Math.max(size, array ? 2 * array.length : 0));
  if (array) made.set(array);
  return made;
}
