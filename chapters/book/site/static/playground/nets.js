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
  constructor(inputs, outputs, random, room) {
    Object.assign(this, { inputs, outputs, room });
    Object.assign(this, { weight: new Parameter(inputs * outputs), bias: new Parameter(outputs) });
    const limit = 1 / Math.sqrt(inputs);
    for (const { value } of [this.weight, this.bias]) value.forEach((_, k) => (value[k] = limit * (2 * random() - 1)));
    this.back = new Float64Array(inputs * outputs); // the weight transposed, [in, out]
    this.none = new Float64Array(inputs);
  }

  forward(x, rows) {
    this.x = x;
    const y = (this.room.y = buffer(this.room.y, rows * this.outputs));
    product(x, this.weight.value, this.bias.value, y, rows, this.inputs, this.outputs);
    return y;
  }

  /** Add to the gradients, given that of the output; returns that of the input if it is asked for. */
  backward(dy, rows, ask) {
    outer(dy, this.x, this.weight.gradient, this.bias.gradient, rows, this.inputs, this.outputs);
    if (!ask) return null;
    transposed(this.weight.value, this.back, this.inputs, this.outputs);
    const dx = (this.room.dx = buffer(this.room.dx, rows * this.inputs));
    product(dy, this.back, this.none, dx, rows, this.outputs, this.inputs);
    return dx;
  }
}

/**
 * A net with layers of these sizes. What `forward` computes stays in its rooms until `backward` needs it. To save
 * memory, nets may share rooms, an object that is empty at first, if no other one's `forward` comes in between.
 */
export class Net {
  constructor(sizes, random, rooms) {
    this.layers = sizes.slice(1).map((outputs, k) => new Linear(sizes[k], outputs, random, (rooms[k] ??= {})));
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
      const { y } = this.layers[k - 1].room; // tanh′ = 1 − tanh²
      for (let n = 0; n < rows * this.layers[k].inputs; n++) dy[n] *= 1 - y[n] * y[n];
    }
  }
}
