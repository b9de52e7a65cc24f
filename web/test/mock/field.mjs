// Values that look like an ocean: rough continents, and a temperature that has seasons, currents and eddies.

const POLYGONS = {
  africa: [[-17, 15], [-16, 22], [-9, 32], [0, 36], [10, 37], [20, 32], [32, 31], [36, 22], [43, 12], [51, 11], [42, -2], [40, -14], [35, -22], [32, -28], [26, -34], [18, -34], [12, -18], [13, -6], [9, 3], [0, 5], [-8, 4], [-13, 9]],
  south: [[-81, -5], [-77, 4], [-72, 11], [-62, 10], [-51, 4], [-40, -3], [-35, -7], [-39, -15], [-42, -22], [-48, -27], [-54, -34], [-58, -39], [-65, -43], [-68, -52], [-72, -53], [-74, -44], [-72, -30], [-70, -18], [-77, -12]],
  north: [[-168, 66], [-156, 71], [-128, 70], [-110, 68], [-94, 72], [-82, 68], [-94, 59], [-80, 52], [-77, 62], [-64, 60], [-56, 52], [-66, 45], [-75, 36], [-81, 31], [-81, 25], [-84, 30], [-97, 27], [-97, 20], [-88, 21], [-84, 11], [-78, 8], [-92, 14], [-105, 20], [-112, 30], [-121, 35], [-124, 45], [-134, 57], [-150, 60], [-162, 57]],
  eurasia: [[-9, 37], [-9, 43], [-1, 44], [-4, 48], [3, 51], [8, 55], [5, 60], [14, 67], [26, 71], [42, 66], [68, 72], [100, 77], [140, 73], [178, 68], [172, 61], [160, 58], [156, 52], [142, 58], [138, 50], [128, 40], [122, 38], [121, 29], [109, 20], [106, 9], [100, 14], [98, 9], [94, 17], [88, 22], [80, 14], [77, 8], [72, 20], [60, 25], [50, 29], [57, 22], [45, 13], [38, 22], [34, 30], [36, 36], [27, 38], [22, 37], [15, 41], [8, 44], [0, 39]],
  australia: [[114, -22], [122, -17], [131, -12], [137, -16], [142, -11], [146, -19], [153, -28], [148, -38], [139, -36], [130, -32], [116, -35]],
  greenland: [[-55, 60], [-50, 69], [-70, 77], [-35, 83], [-18, 78], [-25, 70], [-42, 61]],
  antarctica: [[-180, -78], [-150, -76], [-110, -74], [-75, -71], [-60, -64], [-55, -70], [-20, -74], [30, -69], [90, -66], [140, -67], [170, -72], [180, -78], [180, -90], [-180, -90]],
  java: [[96, 4], [104, -3], [106, -7], [114, -8], [118, -3], [118, 5], [110, 2], [103, 2]],
  guinea: [[131, -1], [141, -3], [150, -8], [146, -9], [138, -8], [133, -4]],
  madagascar: [[44, -17], [49, -13], [50, -17], [46, -25], [44, -22]],
  japan: [[130, 32], [136, 34], [141, 37], [144, 44], [140, 42], [136, 37]],
  britain: [[-5, 50], [1, 51], [0, 54], [-3, 58], [-6, 56], [-4, 53]],
};

export function isLand(longitude, latitude) {
  const x = ((longitude + 540) % 360) - 180;
  return Object.values(POLYGONS).some((corners) => {
    let inside = false;
    for (let at = 0, before = corners.length - 1; at < corners.length; before = at++) {
      const [[x1, y1], [x2, y2]] = [corners[at], corners[before]];
      if (y1 > latitude !== y2 > latitude && x < ((x2 - x1) * (latitude - y1)) / (y2 - y1) + x1) inside = !inside;
    }
    return inside;
  });
}

/** Sea-surface temperature in °C. `month` counts from a January. */
export function temperature(longitude, latitude, month) {
  const r = Math.PI / 180;
  const season = Math.cos(((month - (latitude > 0 ? 7 : 1)) * Math.PI) / 6) * 4.2 * Math.min(1, Math.abs(latitude) / 38);
  const warm = 2.4 * Math.exp(-(((latitude - 3) / 12) ** 2)) * Math.cos((longitude - 150) * r);
  const tongue = -2.6 * Math.exp(-((latitude / 5) ** 2)) * Math.exp(-(((longitude + 105) / 32) ** 2)) * (1 + 0.5 * Math.sin(month / 7));
  const stream = 3.6 * Math.exp(-(((latitude - 40 - 0.16 * (longitude + 60)) / 7) ** 2)) * Math.exp(-(((longitude + 45) / 28) ** 2));
  const eddies = 0.7 * Math.sin(longitude * 0.31 + month * 0.9 + latitude * 0.2) * Math.sin(latitude * 0.42 - month * 0.5) * Math.min(1, Math.abs(latitude) / 30);
  return Math.max(-1.8, 29.6 * Math.cos(latitude * r * 1.06) ** 1.35 - 1.2 + season + warm + tongue + stream + eddies);
}
