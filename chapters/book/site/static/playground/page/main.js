// What a page has of the playground: the large one, or small ones in a chapter.

import { Curve } from "./curve.js";
import { Page } from "./playground_page.js";
import { RATES } from "./rates.js";
import { Small } from "./small.js";
import { interval, welch } from "./stats.js";

Book.playground = { Curve, RATES, Small, interval, welch }; // for tests
const large = document.getElementById("playground");
if (large) new Page(large);
for (const small of document.querySelectorAll(".train-here")) new Small(small);
