// Which labels are drawn: in the order given, each where no other is, as on a map.

const CELL = 40;
const MOST = 420;

/** The labels that fit. `always` ones are drawn even over others. */
export function placeLabels(order, { width, height, screen, context, text, font, below, always }) {
  const taken = new Map();
  const out = [];
  for (const place of order) {
    if (out.length >= MOST) break;
    const [x, y] = screen[place];
    if (x < 0 || y < 0 || x > width || y > height) continue;
    const label = text(place);
    const style = font(place);
    context.font = style;
    const half = context.measureText(label).width / 2 + 5;
    const size = Number(/([\d.]+)px/.exec(style)[1]);
    const box = { left: x - half, right: x + half, top: y + below(place) - 1, bottom: y + below(place) + size + 4 };
    if (!always(place) && overlaps(taken, box)) continue;
    keep(taken, box);
    out.push({ place, text: label, x, y: y + below(place), font: style });
  }
  return out;
}

function* cells({ left, right, top, bottom }) {
  for (let column = Math.floor(left / CELL); column <= Math.floor(right / CELL); column += 1) {
    for (let row = Math.floor(top / CELL); row <= Math.floor(bottom / CELL); row += 1) yield `${column},${row}`;
  }
}

function overlaps(taken, box) {
  for (const key of cells(box)) {
    for (const other of taken.get(key) ?? []) {
      if (box.left < other.right && box.right > other.left && box.top < other.bottom && box.bottom > other.top) return true;
    }
  }
  return false;
}

function keep(taken, box) {
  for (const key of cells(box)) taken.set(key, [...(taken.get(key) ?? []), box]);
}
