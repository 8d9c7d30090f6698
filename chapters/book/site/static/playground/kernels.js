// The three products of a dense layer, on rows [B, in] and weights [out, in]. They are most of the work, so each keeps
// eight sums in registers: 2 rows × 4 columns at a time. Everything else is written plainly.

/** y = x·Wᵀ + b. x [B, in], weight [out, in], bias [out] -> y [B, out]. */
export function product(x, weight, bias, y, rows, inputs, outputs) {
  const wide = outputs - (outputs % 4);
  const even = rows - (rows % 2);
  for (let r = 0; r < even; r += 2) {
    const p = r * inputs;
    const q = p + inputs;
    for (let j = 0; j < wide; j += 4) {
      const w0 = j * inputs;
      const w1 = w0 + inputs;
      const w2 = w1 + inputs;
      const w3 = w2 + inputs;
      let s0 = bias[j];
      let s1 = bias[j + 1];
      let s2 = bias[j + 2];
      let s3 = bias[j + 3];
      let t0 = s0;
      let t1 = s1;
      let t2 = s2;
      let t3 = s3;
      for (let i = 0; i < inputs; i++) {
        const u = x[p + i];
        const v = x[q + i];
        const a = weight[w0 + i];
        const b = weight[w1 + i];
        const c = weight[w2 + i];
        const d = weight[w3 + i];
        s0 += u * a;
        s1 += u * b;
        s2 += u * c;
        s3 += u * d;
        t0 += v * a;
        t1 += v * b;
        t2 += v * c;
        t3 += v * d;
      }
      const s = r * outputs + j;
      const t = s + outputs;
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
    for (let j = r < even ? wide : 0; j < outputs; j++) {
      let sum = bias[j];
      for (let i = 0; i < inputs; i++) sum += x[r * inputs + i] * weight[j * inputs + i];
      y[r * outputs + j] = sum;
    }
  }
}

/** W′ += dyᵀ·x and b′ += Σ dy. dy [B, out], x [B, in] -> weightGradient [out, in], biasGradient [out]. */
export function outer(dy, x, weightGradient, biasGradient, rows, inputs, outputs) {
  const wide = inputs - (inputs % 4);
  const even = outputs - (outputs % 2);
  for (let j = 0; j < even; j += 2) {
    for (let i = 0; i < wide; i += 4) {
      let s0 = 0;
      let s1 = 0;
      let s2 = 0;
      let s3 = 0;
      let t0 = 0;
      let t1 = 0;
      let t2 = 0;
      let t3 = 0;
      for (let r = 0, p = i, q = j; r < rows; r++, p += inputs, q += outputs) {
        const u = dy[q];
        const v = dy[q + 1];
        const a = x[p];
        const b = x[p + 1];
        const c = x[p + 2];
        const d = x[p + 3];
        s0 += u * a;
        s1 += u * b;
        s2 += u * c;
        s3 += u * d;
        t0 += v * a;
        t1 += v * b;
        t2 += v * c;
        t3 += v * d;
      }
      const s = j * inputs + i;
      const t = s + inputs;
      weightGradient[s] += s0;
      weightGradient[s + 1] += s1;
      weightGradient[s + 2] += s2;
      weightGradient[s + 3] += s3;
      weightGradient[t] += t0;
      weightGradient[t + 1] += t1;
      weightGradient[t + 2] += t2;
      weightGradient[t + 3] += t3;
    }
  }
  for (let j = 0; j < outputs; j++) {
    for (let i = j < even ? wide : 0; i < inputs; i++) {
      let sum = 0;
      for (let r = 0; r < rows; r++) sum += dy[r * outputs + j] * x[r * inputs + i];
      weightGradient[j * inputs + i] += sum;
    }
    let sum = 0;
    for (let r = 0; r < rows; r++) sum += dy[r * outputs + j];
    biasGradient[j] += sum;
  }
}

/** The transpose of weight [out, in]: with it and no bias, `product` makes dx = dy·W. */
export function transposed(weight, into, inputs, outputs) {
  for (let j = 0; j < outputs; j++) for (let i = 0; i < inputs; i++) into[i * outputs + j] = weight[j * inputs + i];
}
