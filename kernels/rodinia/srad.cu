// SPDX-License-Identifier: MIT
// Speckle-reducing anisotropic diffusion, 16x16 tiles with their edge rows and columns in shared memory. A tile's row is half a
// cache line, so neighbouring CTAs share lines.

constexpr int kTile = 16;

// Directional differences and the diffusion coefficient of every pixel.
extern "C" __global__ void srad_coefficients(float* east_difference, float* west_difference, float* north_difference,
                                             float* south_difference, const float* image, float* coefficient, int columns, int rows,
                                             float speckle) {
    __shared__ float tile[kTile][kTile];
    __shared__ float result[kTile][kTile];
    __shared__ float north[kTile][kTile];
    __shared__ float south[kTile][kTile];
    __shared__ float east[kTile][kTile];
    __shared__ float west[kTile][kTile];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int x0 = kTile * blockIdx.x, y0 = kTile * blockIdx.y;
    const int index = (y0 + ty) * columns + x0 + tx;
    // The image is its own neighbour at its edges.
    const int row_above = y0 > 0 ? y0 - 1 : 0;
    const int row_below = y0 + kTile < rows ? y0 + kTile : rows - 1;
    const int column_left = x0 > 0 ? x0 - 1 : 0;
    const int column_right = x0 + kTile < columns ? x0 + kTile : columns - 1;
    north[ty][tx] = image[row_above * columns + x0 + tx];
    south[ty][tx] = image[row_below * columns + x0 + tx];
    west[ty][tx] = image[(y0 + ty) * columns + column_left];
    east[ty][tx] = image[(y0 + ty) * columns + column_right];
    tile[ty][tx] = image[index];
    __syncthreads();

    const float here = tile[ty][tx];
    const float to_north = (ty == 0 ? north[ty][tx] : tile[ty - 1][tx]) - here;
    const float to_south = (ty == kTile - 1 ? south[ty][tx] : tile[ty + 1][tx]) - here;
    const float to_west = (tx == 0 ? west[ty][tx] : tile[ty][tx - 1]) - here;
    const float to_east = (tx == kTile - 1 ? east[ty][tx] : tile[ty][tx + 1]) - here;
    const float gradient =
        (to_north * to_north + to_south * to_south + to_west * to_west + to_east * to_east) / (here * here);
    const float laplacian = (to_north + to_south + to_west + to_east) / here;
    const float numerator = 0.5f * gradient - (1.0f / 16.0f) * (laplacian * laplacian);
    const float root = 1.0f + 0.25f * laplacian;
    const float variation = numerator / (root * root);
    const float excess = (variation - speckle) / (speckle * (1.0f + speckle));
    const float diffusion = 1.0f / (1.0f + excess);
    result[ty][tx] = diffusion < 0.0f ? 0.0f : diffusion > 1.0f ? 1.0f : diffusion;
    __syncthreads();
    coefficient[index] = result[ty][tx];
    east_difference[index] = to_east;
    west_difference[index] = to_west;
    north_difference[index] = to_north;
    south_difference[index] = to_south;
}

// The image moves along the divergence.
extern "C" __global__ void srad_update(const float* east_difference, const float* west_difference, const float* north_difference,
                                       const float* south_difference, float* image, const float* coefficient, int columns, int rows,
                                       float lambda) {
    __shared__ float tile[kTile][kTile];
    __shared__ float result[kTile][kTile];
    __shared__ float south[kTile][kTile];
    __shared__ float east[kTile][kTile];
    __shared__ float pixel[kTile][kTile];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int x0 = kTile * blockIdx.x, y0 = kTile * blockIdx.y;
    const int index = (y0 + ty) * columns + x0 + tx;
    const int row_below = y0 + kTile < rows ? y0 + kTile : rows - 1;
    const int column_right = x0 + kTile < columns ? x0 + kTile : columns - 1;
    south[ty][tx] = coefficient[row_below * columns + x0 + tx];
    east[ty][tx] = coefficient[(y0 + ty) * columns + column_right];
    tile[ty][tx] = coefficient[index];
    pixel[ty][tx] = image[index];
    __syncthreads();

    const float here = tile[ty][tx];
    const float below = ty == kTile - 1 ? south[ty][tx] : tile[ty + 1][tx];
    const float right = tx == kTile - 1 ? east[ty][tx] : tile[ty][tx + 1];
    const float divergence = here * north_difference[index] + below * south_difference[index] + here * west_difference[index] +
                             right * east_difference[index];
    result[ty][tx] = pixel[ty][tx] + 0.25f * lambda * divergence;
    __syncthreads();
    image[index] = result[ty][tx];
}
