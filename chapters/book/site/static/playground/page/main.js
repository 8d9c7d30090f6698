// What a page has of the playground: the large one, or small ones in a chapter.

import { Curve } from "./curve.js";
import { Page } from "./playground_page.js";
import { Small } from "./small.js";
import { interval } from "./stats.js";

Book.playground = { Curve, Small, interval }; // for tests
const large = document.getElementById("playground");
if (large) new Page(large);
for (const small of document.querySelectorAll(".train-here")) new Small(small);
