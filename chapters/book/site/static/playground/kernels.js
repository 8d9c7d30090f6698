// The product behind a dense layer and its gradients. It is most of the work, so it keeps eight sums in registers, of
// 2 rows × 4 columns. Everything else is written plainly.

/** A matrix whose rows follow each other in an array: how far apart two rows are, and two numbers of a row. */
export function matrix(data, width) {
  return { data, row: width, step: 1 };
}

/** The transpose of such a matrix, without moving a number. */
export function transposed(data, width) {
  return { data, row: 1, step: width };
}

/** C = A·Bᵀ + s in each row. A [rows, length], B [columns, length], s [columns] -> C [rows, columns], an array. */
export function product({ data: x, row: xRow, step: xStep }, { data: w, row: wRow, step: wStep }, start, y, shape) {
  const [rows, columns, length] = shape;
  const even = rows - (rows % 2);
  const wide = columns - (columns % 4);
  for (let r = 0; r < even; r += 2) {
    for (let j = 0; j < wide; j += 4) {
      let s0 = start[j];
      let s1 = start[j + 1];
      let s2 = start[j + 2];
      let s3 = start[j + 3];
      let t0 = s0;
      let t1 = s1;
      let t2 = s2;
      let t3 = s3;
      for (let k = 0, p = r * xRow, q = j * wRow; k < length; k++, p += xStep, q += wStep) {
        const u = x[p];
        const v = x[p + xRow];
        const a = w[q];
        const b = w[q + wRow];
        const c = w[q + 2 * wRow];
        const d = w[q + 3 * wRow];
        s0 += u * a;
        s1 += u * b;
        s2 += u * c;
        s3 += u * d;
        t0 += v * a;
        t1 += v * b;
        t2 += v * c;
        t3 += v * d;
      }
      const s = r * columns + j;
      const t = s + columns;
      y[s] = s0;
      y[s + 1] = s1;
      y[s + 2] = s2;
      y[s + 3] = s3;
      y[t] = t0;
      y[t + 1] = t1;
      y[t + 2] = t2;
      y[t + 3] = t3;
    }
  }
  for (let r = 0; r < rows; r++) {
    for (let j = r < even ? wide : 0; j < columns; j++) {
      let sum = start[j];
      for (let k = 0, p = r * xRow, q = j * wRow; k < length; k++, p += xStep, q += wStep) sum += x[p] * w[q];
      y[r * columns + j] = sum;
    }
  }
}
