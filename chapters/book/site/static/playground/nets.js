// Nets of dense tanh layers and a linear head, with gradients by hand. Rows lead: [B, in] -> [B, out].

import { buffer } from "./buffers.js";
import { matrix, product, transposed } from "./kernels.js";

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
    this.none = new Float64Array(inputs);
  }

  /** y = x·Wᵀ + b. x [B, in] -> y [B, out]. */
  forward(x, rows) {
    this.x = x;
    const { inputs, outputs, weight, bias } = this;
    const y = (this.room.y = buffer(this.room.y, rows * outputs));
    product(matrix(x, inputs), matrix(weight.value, inputs), bias.value, y, [rows, outputs, inputs]);
    return y;
  }

  /** W′ = dyᵀ·x and b′ = Σ dy, given dy [B, out]; returns dx = dy·W, [B, in], if it is asked for. */
  backward(dy, rows, ask) {
    const { inputs, outputs, weight, bias, none } = this;
    product(transposed(dy, outputs), transposed(this.x, inputs), none, weight.gradient, [outputs, inputs, rows]);
    for (let j = 0; j < outputs; j++) {
      let sum = 0;
      for (let k = j; k < rows * outputs; k += outputs) sum += dy[k];
      bias.gradient[j] = sum;
    }
    if (!ask) return null;
    const dx = (this.room.dx = buffer(this.room.dx, rows * inputs));
    product(matrix(dy, outputs), transposed(weight.value, inputs), none, dx, [rows, inputs, outputs]);
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

  /** A net of its own with the same weights. */
  copy() {
    const sizes = [this.layers[0].inputs, ...this.layers.map(({ outputs }) => outputs)];
    const twin = new Net(sizes, () => 0, {});
    twin.parameters.forEach(({ value }, k) => value.set(this.parameters[k].value));
    return twin;
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

  /** Set the parameters' gradients, given that of the output of the last `forward`. */
  backward(dy, rows) {
    for (let k = this.layers.length - 1; k >= 0; k--) {
      dy = this.layers[k].backward(dy, rows, k > 0);
      if (k === 0) return;
      const { y } = this.layers[k - 1].room; // tanh′ = 1 − tanh²
      for (let n = 0; n < rows * this.layers[k].inputs; n++) dy[n] *= 1 - y[n] * y[n];
    }
  }
}
