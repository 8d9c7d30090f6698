// Nets of dense tanh layers and a linear head, with gradients by hand. Rows lead: [B, in] -> [B, out].

import { outer, product, transposed } from "./kernels.js";
import { buffer } from "./buffers.js";

/** Numbers that are learned: their values, and the gradient of the loss by them. */
export class Parameter {
  constructor(size) {
    this.value = new Float64Array(size);
    this.gradient = new Float64Array(size);
  }
}

/** One linear layer, weight [out, in] and bias [out], initialized like torch.nn.Linear: U(±1/√in). */
export class Linear {
  constructor(inputs, outputs, random) {
    Object.assign(this, { inputs, outputs, weight: new Parameter(inputs * outputs), bias: new Parameter(outputs) });
    const limit = 1 / Math.sqrt(inputs);
    for (const { value } of [this.weight, this.bias]) value.forEach((_, k) => (value[k] = limit * (2 * random() - 1)));
    this.back = new Float64Array(inputs * outputs); // the weight transposed, [in, out]
    this.none = new Float64Array(inputs);
  }

  forward(x, rows) {
    this.x = x;
    this.y = buffer(this.y, rows * this.outputs);
    product(x, this.weight.value, this.bias.value, this.y, rows, this.inputs, this.outputs);
    return this.y;
  }

  /** Add to the gradients, given that of the output; returns that of the input if it is asked for. */
  backward(dy, rows, ask) {
    outer(dy, this.x, this.weight.gradient, this.bias.gradient, rows, this.inputs, this.outputs);
    if (!ask) return null;
    transposed(this.weight.value, this.back, this.inputs, this.outputs);
    this.dx = buffer(this.dx, rows * this.inputs);
    product(dy, this.back, this.none, this.dx, rows, this.outputs, this.inputs);
    return this.dx;
  }
}

/** A net with layers of these sizes. Its buffers hold what the last `forward` computed, for `backward`. */
export class Net {
  constructor(sizes, random) {
    this.layers = sizes.slice(1).map((outputs, k) => new Linear(sizes[k], outputs, random));
  }

  get head() {
    return this.layers[this.layers.length - 1];
  }

  get parameters() {
    return this.layers.flatMap(({ weight, bias }) => [weight, bias]);
  }

  /** x [B, in] -> [B, out], in a buffer that the next call overwrites. */
  forward(x, rows) {
    for (const layer of this.layers) {
      x = layer.forward(x, rows);
      if (layer !== this.head) for (let k = 0; k < rows * layer.outputs; k++) x[k] = Math.tanh(x[k]);
    }
    return x;
  }

  /** Add to the parameters' gradients, given the gradient of the output of the last `forward`. */
  backward(dy, rows) {
    for (let k = this.layers.length - 1; k >= 0; k--) {
      dy = this.layers[k].backward(dy, rows, k > 0);
      if (k === 0) return;
      const y = this.layers[k - 1].y; // tanh′ = 1 − tanh²
      for (let n = 0; n < rows * this.layers[k].inputs; n++) dy[n] *= 1 - y[n] * y[n];
    }
  }
}
